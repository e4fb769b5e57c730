// notes_tab.ts: the findings that r.explain() left in the recording, and how each pass ended.
import type { App } from "./app.ts";
import { passName } from "./describe.ts";
import { empty, fill, h, nodeLink } from "./dom.ts";
import { duration } from "./format.ts";
import { Kind, type Recording } from "./recording.ts";

const WORDS: Record<string, string> = { warn: "Warning", warning: "Warning", error: "Error", info: "Note" };

export class NotesTab {
  readonly element = h("div", { class: "split even" });

  private drawn: { recording: Recording; length: number } | null = null;

  constructor(private readonly app: App) {}

  update(): void {
    const { app } = this;
    const { length } = app.recording.events;
    if (this.drawn?.recording === app.recording && this.drawn.length === length) return;
    this.drawn = { recording: app.recording, length };
    const { notes, passes, events } = app.recording;
    const note = (level: string, text: string, node: number): HTMLElement =>
      h(
        "div",
        { class: "note" },
        h("span", { class: `level ${level === "warning" ? "warn" : level}` }, WORDS[level] ?? level),
        h("span", {}, text),
        node >= 0 ? nodeLink(app.recording.title(node), () => app.select(node)) : h("span", {}),
      );
    const rows: HTMLElement[] = [];
    const starts: number[] = [];
    for (let i = 0; i < events.length; i++) if (events.kind[i] === Kind.passStarted && events.pass[i]! >= 0) starts[events.pass[i]!] = i;
    for (let p = 0; p < Math.min(passes.rows, 300); p++) {
      const error = app.recording.text(passes.error[p]!);
      rows.push(
        h(
          "tr",
          {},
          h(
            "td",
            {},
            nodeLink(passName(app.recording, p), () => app.seek(starts[p] ?? 0)),
          ),
          h("td", { class: "right numbers" }, duration(passes.end[p]! - passes.start[p]!)),
          h("td", {}, [passes.keepGraph[p] ? "graph kept" : "", passes.createGraph[p] ? "create_graph" : ""].filter(Boolean).join(", ")),
          h("td", { class: "wide" }, error ? h("span", { class: "bad-text" }, error) : "finished"),
        ),
      );
    }
    fill(
      this.element,
      h(
        "div",
        {},
        h("h3", { class: "block-title" }, "Findings"),
        notes.length > 0
          ? h("div", {}, ...notes.map((n) => note(n.level, n.text, n.node)))
          : empty(
              "No findings in this recording.",
              "They would be about gradients that are missing, vanish, explode or are not finite, and graphs that are kept alive.",
            ),
      ),
      h(
        "div",
        {},
        h("h3", { class: "block-title" }, "Passes"),
        rows.length > 0
          ? h(
              "table",
              {},
              h("thead", {}, h("tr", {}, h("th", {}, "pass"), h("th", { class: "right" }, "time"), h("th", {}, "options"), h("th", {}, "end"))),
              h("tbody", {}, ...rows),
            )
          : empty("No backward pass was recorded."),
      ),
    );
  }
}
