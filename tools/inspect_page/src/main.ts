// main.ts: starts the page: finds the recording (inside the file, from the live server, or chosen by a person) and shows it.
import { App } from "./app.ts";
import { DamagedRecording } from "./columns.ts";
import { h } from "./dom.ts";
import { acceptDrops, chooseFile, toast, whyNot } from "./files.ts";
import { hashToState, keepAddress } from "./link.ts";
import { readRecording, type Recording } from "./recording.ts";
import { applyTheme, Shell } from "./shell.ts";
import type { Tab } from "./tabs.ts";
import { Timeline } from "./timeline.ts";

function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const made = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  try {
    if (made) return made(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    throw new DamagedRecording("the data inside the page is damaged");
  }
}

class Start {
  private readonly app = new App();
  private shell: Shell | null = null;
  private readonly message = h("p", { class: "message", role: "status" }, "Reading the recording…");
  private readonly cover = h("div", { class: "cover" }, h("div", { class: "card" }, h("h1", {}, "Undertow inspect"), this.message));

  async run(): Promise<void> {
    applyTheme("auto");
    document.body.append(this.cover);
    acceptDrops((recording, name) => this.show(recording, name), (text) => (this.shell ? toast(text) : this.say(text, true)));
    const inside = document.getElementById("utrace");
    try {
      await document.fonts.load('500 12px "Inter Variable"'); // boxes are as wide as their text
      if (inside) {
        const bytes = bytesOfBase64(inside.textContent!.trim());
        inside.remove();
        this.show(await readRecording(bytes), "");
      } else this.say("Open a recording made with undertow.inspect, or drop the file here.", false);
    } catch (error) {
      if (!(error instanceof DamagedRecording)) console.error(error);
      this.say(whyNot(error), true);
    }
  }

  private say(text: string, bad: boolean): void {
    this.message.textContent = text;
    this.message.classList.toggle("bad", bad);
    const card = this.cover.firstElementChild!;
    card.querySelector("button")?.remove();
    card.append(h("button", { type: "button", class: "plain", onclick: () => chooseFile((recording, name) => this.show(recording, name)) }, "Open a recording"));
    if (!this.cover.isConnected) document.body.append(this.cover);
  }

  private show(recording: Recording, name: string): void {
    const { app } = this;
    if (!this.shell) {
      this.shell = new Shell(app, () => {});
      this.shell.mount(this.tabs());
      keepAddress(app);
      addEventListener("hashchange", () => hashToState(app, location.hash));
    }
    app.show(recording, name);
    app.setTab(app.tab);
    hashToState(app, location.hash);
    this.cover.remove();
  }

  private tabs(): Tab[] {
    const { app } = this;
    const timeline = new Timeline(app);
    return [{ id: "timeline", title: "Timeline", element: timeline.element, tight: true, shown: () => timeline.redraw() }];
  }
}

void new Start().run();
