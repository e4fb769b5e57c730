// main.ts: starts the page: finds the recording (inside the file, from the live server, or chosen by a person) and shows it.
import { App } from "./app.ts";
import { DamagedRecording } from "./columns.ts";
import { CompareTab } from "./compare_tab.ts";
import { h } from "./dom.ts";
import { acceptDrops, chooseFile, toast, whyNot } from "./files.ts";
import { count } from "./format.ts";
import { Health } from "./health.ts";
import { HealthTab } from "./health_tab.ts";
import { hashToState, keepAddress } from "./link.ts";
import { Live } from "./live.ts";
import { LiveBar } from "./live_bar.ts";
import { LiveTab } from "./live_tab.ts";
import { MemoryTab } from "./memory_tab.ts";
import { NotesTab } from "./notes_tab.ts";
import { readRecording } from "./reader.ts";
import type { Recording } from "./recording.ts";
import { applyTheme, Shell } from "./shell.ts";
import { TablesTab } from "./tables_tab.ts";
import type { Tab } from "./tabs.ts";
import { Timeline } from "./timeline.ts";
import { Tour } from "./tour.ts";

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

/** The recording in an element of the page, which is removed: its text is large. */
function recordingIn(element: HTMLElement): Promise<Recording> {
  const bytes = bytesOfBase64(element.textContent!.trim());
  element.remove();
  return readRecording(bytes);
}

class Start {
  private readonly app = new App();
  private shell: Shell | null = null;
  private tour: Tour | null = null;
  private live: Live | null = null;
  private readonly message = h("p", { class: "message", role: "status" }, "Reading the recording…");
  private readonly cover = h("div", { class: "cover" }, h("div", { class: "card" }, h("h1", {}, "Undertow inspect"), this.message));

  async run(): Promise<void> {
    applyTheme("auto");
    document.body.append(this.cover);
    acceptDrops(
      (recording, name) => this.show(recording, name),
      (text) => (this.shell ? toast(text) : this.say(text, true)),
    );
    const inside = document.getElementById("utrace"),
      second = document.getElementById("utrace2");
    try {
      await document.fonts.load('500 12px "Inter Variable"'); // boxes are as wide as their text
      if (inside) {
        this.show(await recordingIn(inside), "");
        if (second) {
          this.app.compareWith(await recordingIn(second), "second");
          if (!location.hash.includes("tab=")) this.app.setTab("compare");
        }
      } else if (document.getElementById("live")) {
        this.live = new Live(this.app);
        this.show(await this.live.fetchRecording(), "");
        void this.live.follow();
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
    card.append(
      h("button", { type: "button", class: "plain", onclick: () => chooseFile((recording, name) => this.show(recording, name)) }, "Open a recording"),
    );
    if (!this.cover.isConnected) document.body.append(this.cover);
  }

  private show(recording: Recording, name: string): void {
    const { app } = this;
    if (!this.shell) {
      const shell = (this.shell = new Shell(app, () => tour.start()));
      const tour = (this.tour = new Tour(app, shell.graph));
      shell.mount(this.tabs(), this.live && new LiveBar(app, this.live));
      if (this.live) app.tab = "live";
      keepAddress(app);
      addEventListener("hashchange", () => this.goToAddress());
    }
    app.show(recording, name);
    app.setTab(app.tab);
    this.goToAddress();
    this.cover.remove();
  }

  private goToAddress(): void {
    const tour = /^#tour(?:=(\d+))?(?:&|$)/.exec(location.hash);
    hashToState(this.app, location.hash);
    if (tour) this.tour!.start(Number(tour[1] ?? 1) - 1);
  }

  private tabs(): Tab[] {
    const { app } = this;
    const shell = this.shell!;
    const timeline = new Timeline(app),
      memory = new MemoryTab(app),
      tables = new TablesTab(app),
      compared = new CompareTab(app),
      notes = new NotesTab(app);
    const health = new HealthTab(
      app,
      () => shell.health(),
      () => shell.goToFirstBad(),
    );
    const bad = (): { text: string; bad: boolean } | null => {
      const { counts } = shell.health();
      const worst = counts[Health.nan]! + counts[Health.inf]! + counts[Health.exploding]!;
      return worst > 0 ? { text: count(worst), bad: true } : null;
    };
    const live = this.live && new LiveTab(app, this.live);
    return [
      ...(live ? [{ id: "live", title: "Paused gradient", element: live.element, shown: () => live.update() }] : []),
      { id: "timeline", title: "Timeline", element: timeline.element, tight: true, shown: () => timeline.redraw() },
      { id: "memory", title: "Memory", element: memory.element, shown: () => memory.update() },
      { id: "gradients", title: "Gradients", element: health.element, shown: () => health.update(), badge: bad },
      { id: "tables", title: "Slowest and largest", element: tables.element, shown: () => tables.update() },
      {
        id: "notes",
        title: "Findings",
        element: notes.element,
        shown: () => notes.update(),
        badge: () => (app.recording.notes.length > 0 ? { text: count(app.recording.notes.length) } : null),
      },
      { id: "compare", title: "Compare", element: compared.element, shown: () => compared.update() },
    ];
  }
}

void new Start().run();
