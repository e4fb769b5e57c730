// tables_tab.ts: the slowest nodes and those that save the most, each a table one can sort by nothing else: the order is the answer.
import type { App } from "./app.ts";
import { bar, empty, fill, h, nodeLink } from "./dom.ts";
import { bytes, count, duration, percent } from "./format.ts";
import type { Recording } from "./recording.ts";
import { bytesSaved, durations } from "./tallies.ts";

const SHOWN = 100;

function top(values: Float64Array, limit: number): number[] {
  const rows: number[] = [];
  for (let n = 0; n < values.length; n++) if (values[n]! > 0) rows.push(n);
  return rows.sort((a, b) => values[b]! - values[a]!).slice(0, limit);
}

export class TablesTab {
  readonly element = h("div", { class: "split even" });
  private drawn: { recording: Recording; length: number; node: number } | null = null;

  constructor(private readonly app: App) {}

  update(): void {
    const { recording, node } = this.app;
    const { length } = recording.events;
    if (this.drawn?.recording === recording && this.drawn.length === length && this.drawn.node === node) return;
    this.drawn = { recording, length, node };
    const times = durations(recording),
      saved = bytesSaved(recording);
    fill(
      this.element,
      this.table("Slowest", "Time in the node, without passes that it ran itself.", times.total, duration),
      this.table("Largest", "Bytes that the node saved for its backward.", saved, bytes),
    );
  }

  private table(title: string, hint: string, values: Float64Array, format: (v: number) => string): HTMLElement {
    const { app } = this;
    const { recording } = app;
    const rows = top(values, SHOWN);
    const sum = values.reduce((a, b) => a + b, 0);
    if (rows.length === 0)
      return h(
        "div",
        {},
        h("h3", { class: "block-title" }, title),
        empty(title === "Slowest" ? "No node ran in this recording." : "No node saved a tensor."),
      );
    return h(
      "div",
      {},
      h("h3", { class: "block-title" }, title, h("span", { class: "aside" }, hint)),
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { class: "right" }, "#"),
            h("th", {}, "node"),
            h("th", {}, "module"),
            h("th", {}, "line"),
            h("th", {}),
            h("th", { class: "right" }, `of ${format(sum)}`),
            h("th", { class: "right" }, "share"),
          ),
        ),
        h(
          "tbody",
          {},
          ...rows.map((n, i) =>
            h(
              "tr",
              { class: n === app.node ? "current" : null },
              h("td", { class: "right numbers faint" }, count(i + 1)),
              h(
                "td",
                { class: "wide" },
                nodeLink(recording.title(n), () => app.select(n)),
              ),
              h("td", {}, recording.modulePath(recording.nodes.module[n]!)),
              h("td", {}, recording.place(n)),
              h("td", {}, bar(values[n]! / values[rows[0]!]!)),
              h("td", { class: "right numbers" }, format(values[n]!)),
              h("td", { class: "right numbers" }, percent(values[n]!, sum)),
            ),
          ),
        ),
      ),
    );
  }
}
