// memory_tab.ts: memory over time, and what holds it at the current event.
import type { App } from "./app.ts";
import { Chart } from "./chart.ts";
import { bar, empty, fill, h, nodeLink } from "./dom.ts";
import { bytes, count, duration, percent } from "./format.ts";
import { holders, memoryCurve, type Holder } from "./memory_math.ts";
import type { Recording } from "./recording.ts";

export class MemoryTab {
  readonly element = h("div", { class: "split" });
  private readonly chart = new Chart();
  private readonly title = h("h3", { class: "block-title" });
  private readonly table = h("div", { class: "holders" });
  private by: "lines" | "modules" = "lines";
  private drawn: Recording | null = null;
  private length = 0;
  private theme = "";
  private timer = 0;
  private peak = -1;

  constructor(private readonly app: App) {
    this.element.append(h("div", { class: "chart-box" }, this.title, this.chart.element), this.table);
  }

  update(): void {
    const { recording } = this.app;
    const theme = document.documentElement.dataset.theme ?? "";
    if (this.drawn !== recording || this.length !== recording.events.length || this.theme !== theme) {
      this.drawn = recording;
      this.length = recording.events.length;
      this.theme = theme;
      this.drawCurve();
    } else this.chart.redraw();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.list(), this.app.playing ? 250 : 40); // the list takes longer than a step
  }

  private drawCurve(): void {
    const { app } = this;
    const { events } = app.recording;
    const curve = memoryCurve(app.recording);
    this.peak = curve.peak;
    fill(
      this.title,
      curve.recorded ? "Memory held by tensors" : "Memory of saved tensors",
      h("span", { class: "aside" }, curve.recorded ? "" : "the total was not recorded"),
      curve.peak >= 0 ? nodeLink(`peak ${bytes(Math.max(...curve.bytes))}`, () => app.seek(this.peak), "Go to the peak") : null,
    );
    this.chart.set({
      x: curve.time,
      series: [{ label: "bytes", values: curve.bytes, fill: true }],
      formatX: duration,
      formatY: bytes,
      stepped: true,
      binary: true,
      mark: () => (app.event >= 0 ? events.time[app.event]! - events.time[0]! : 0),
      chosen: (x) => {
        let low = 0,
          high = events.length;
        while (low < high) {
          const middle = (low + high) >> 1;
          if (events.time[middle]! - events.time[0]! <= x) low = middle + 1;
          else high = middle;
        }
        app.seek(low - 1);
      },
    });
  }

  private list(): void {
    const { app } = this;
    const held = holders(app.recording, app.replay);
    const rows = held[this.by];
    const choice = (by: "lines" | "modules", text: string): HTMLButtonElement =>
      h(
        "button",
        {
          type: "button",
          class: "plain small-button",
          "aria-pressed": String(this.by === by),
          onclick: () => {
            this.by = by;
            this.list();
          },
        },
        text,
      );
    const row = (r: Holder): HTMLElement =>
      h(
        "tr",
        {},
        h(
          "td",
          { class: "wide" },
          nodeLink(r.label, () => app.select(r.node), "Select the node that holds most of it"),
        ),
        h("td", {}, bar(r.bytes / Math.max(1, rows[0]!.bytes))),
        h("td", { class: "right numbers" }, bytes(r.bytes)),
        h("td", { class: "right numbers" }, percent(r.bytes, held.saved)),
        h("td", { class: "right numbers" }, count(r.nodes)),
      );
    fill(
      this.table,
      h(
        "h3",
        { class: "block-title" },
        "Held now",
        h("span", { class: "aside numbers" }, `saved ${bytes(held.saved)} · in buffers ${bytes(held.buffers)}`),
        h("span", { class: "push" }),
        choice("lines", "by line"),
        choice("modules", "by module"),
      ),
      rows.length === 0
        ? empty("No saved tensors are alive at this moment.")
        : h(
            "table",
            {},
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                h("th", {}, this.by === "lines" ? "line" : "module"),
                h("th", {}),
                h("th", { class: "right" }, "bytes"),
                h("th", { class: "right" }, "share"),
                h("th", { class: "right" }, "nodes"),
              ),
            ),
            h("tbody", {}, ...rows.slice(0, 100).map(row)),
          ),
    );
  }
}
