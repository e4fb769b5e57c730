// transport.ts: the bar that moves through the events: slider, steps, play, speed, and the sentence of the current event.
import type { App } from "./app.ts";
import { describe, EVENT_NAMES } from "./describe.ts";
import { announce, h } from "./dom.ts";
import { count, duration } from "./format.ts";
import { icon } from "./icons.ts";

const SPEEDS = [1, 4, 16, 64, 256, 1024, 4096]; // events a second

export class Transport {
  readonly element: HTMLElement;
  private readonly slider = h("input", { type: "range", class: "slider", min: -1, step: 1, "aria-label": "Event" });
  private readonly sentence = h("output", { class: "sentence" });
  private readonly where = h("span", { class: "where numbers" });
  private readonly play: HTMLButtonElement;
  private readonly speed = h("select", { title: "Speed of playing", "aria-label": "Speed" });
  private frame = 0;

  constructor(private readonly app: App) {
    const button = (name: string, title: string, action: () => void): HTMLButtonElement =>
      h("button", { type: "button", title, "aria-label": title, onclick: action }, icon(name));
    this.play = h("button", { type: "button", class: "play", title: "Play or pause (Space)", onclick: () => app.setPlaying(!app.playing) }, "Play");
    for (const s of SPEEDS) this.speed.append(h("option", { value: s, selected: s === 16 }, `${count(s)} events/s`));
    const follow = h("input", {
      type: "checkbox",
      checked: true,
      onchange: () => {
        app.follow = follow.checked;
      },
    });
    this.element = h(
      "section",
      { class: "transport", "aria-label": "Steps" },
      h(
        "div",
        { class: "transport-row" },
        button("first", "First event (Home)", () => app.seek(-1)),
        button("nodeBack", "Node before (Shift+Left)", () => app.seek(app.nextNodeEvent(-1))),
        button("back", "Event before (Left)", () => app.seek(app.event - 1)),
        this.play,
        button("next", "Next event (Right)", () => app.seek(app.event + 1)),
        button("nodeNext", "Next node (Shift+Right)", () => app.seek(app.nextNodeEvent(1))),
        button("last", "Last event (End)", () => app.seek(Infinity)),
        this.speed,
        h("label", { class: "follow", title: "Keep the current node in view" }, follow, "Follow"),
        this.sentence,
        this.where,
      ),
      this.slider,
    );
    this.slider.addEventListener("input", () => {
      app.setPlaying(false);
      app.seek(Number(this.slider.value));
    });
    app.on(["recording", "event", "grown"], () => this.update());
    app.on(["playing"], () => this.playingChanged());
  }

  private update(): void {
    const { recording, event } = this.app;
    this.slider.max = String(recording.events.length - 1);
    this.slider.value = String(event);
    this.slider.style.setProperty("--done", `${(100 * (event + 1)) / Math.max(1, recording.events.length)}%`);
    const text = describe(recording, event);
    this.sentence.textContent = text;
    this.sentence.title = text;
    this.slider.setAttribute("aria-valuetext", text);
    const time = event >= 0 ? duration(recording.events.time[event]! - recording.events.time[0]!) : "–";
    this.where.textContent = `${event >= 0 ? EVENT_NAMES[recording.events.kind[event]!] : "start"} · ${count(event + 1)} / ${count(recording.events.length)} · ${time}`;
    if (!this.app.playing) announce(text);
  }

  private playingChanged(): void {
    const { app } = this;
    this.play.textContent = app.playing ? "Pause" : "Play";
    this.play.setAttribute("aria-pressed", String(app.playing));
    cancelAnimationFrame(this.frame);
    if (!app.playing) return;
    if (app.event >= app.recording.events.length - 1) app.seek(-1);
    let last = performance.now(),
      owed = 0;
    const tick = (now: number): void => {
      owed += ((now - last) / 1000) * Number(this.speed.value);
      last = now;
      const whole = Math.floor(owed);
      if (whole > 0) {
        owed -= whole;
        app.seek(app.event + whole);
      }
      if (app.event >= app.recording.events.length - 1) {
        app.setPlaying(false);
        return;
      }
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  /** Keys that work anywhere on the page. True if the key was used. */
  key(e: KeyboardEvent): boolean {
    const { app } = this;
    const actions: Record<string, () => void> = {
      ArrowRight: () => app.seek(e.shiftKey ? app.nextNodeEvent(1) : app.event + 1),
      ArrowLeft: () => app.seek(e.shiftKey ? app.nextNodeEvent(-1) : app.event - 1),
      Home: () => app.seek(-1),
      End: () => app.seek(Infinity),
      " ": () => app.setPlaying(!app.playing),
    };
    const action = actions[e.key];
    if (!action) return false;
    if (e.key !== " ") app.setPlaying(false);
    action();
    return true;
  }
}
