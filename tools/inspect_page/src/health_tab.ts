// health_tab.ts: bad gradients, the first of them, and the norm of every parameter's gradient over the recorded passes.
import type { App } from "./app.ts";
import { Chart, type Series } from "./chart.ts";
import { empty, fill, h, nodeLink } from "./dom.ts";
import { count, plural, value } from "./format.ts";
import { Health, HEALTH_NAMES, HEALTH_RULE, passOfValue, rootMeanSquare, type Assessment } from "./health.ts";
import { readPalette } from "./palette.ts";
import { NodeKind, type Recording } from "./recording.ts";

const SHOWN = 200;
const FEW = 6; // lines that can be told apart in one chart

interface ParameterNorms {
  node: number;
  name: string;
  norms: (number | null)[];
  rows: number[];
  health: number;
}

/** Root mean square of each parameter's gradient, one entry per top pass. NaN becomes null. */
function parameterNorms(recording: Recording, assessment: Assessment): { passes: number[]; parameters: ParameterNorms[] } {
  const passes: number[] = [];
  const column = new Map<number, number>();
  for (let p = 0; p < recording.passes.rows; p++)
    if (recording.passes.parent[p]! < 0) {
      column.set(p, passes.length);
      passes.push(p);
    }
  const parameters: ParameterNorms[] = [];
  for (let node = 0; node < recording.nodes.rows; node++) {
    if (recording.nodes.kind[node] !== NodeKind.accumulate) continue;
    const rows = recording.valuesOf(node);
    if (rows.length === 0) continue;
    const entry: ParameterNorms = {
      node,
      name: recording.text(recording.nodes.leaf[node]!) || `leaf ${node}`,
      norms: passes.map(() => null),
      rows: passes.map(() => -1),
      health: 0,
    };
    for (const row of rows) {
      const at = column.get(recording.topPass(passOfValue(recording, row)));
      if (at === undefined) continue;
      const size = rootMeanSquare(recording, row);
      entry.norms[at] = Number.isFinite(size) ? size : null;
      entry.rows[at] = row;
      entry.health = Math.max(entry.health, assessment.ofValue[row]!);
    }
    parameters.push(entry);
  }
  return { passes, parameters };
}

export class HealthTab {
  readonly element = h("div", { class: "thirds" });
  private readonly chart = new Chart();
  private readonly chartTitle = h("h3", { class: "block-title" });
  private drawn: unknown = null;
  private theme = "";

  constructor(
    private readonly app: App,
    private readonly assessment: () => Assessment,
    private readonly goToFirstBad: () => void,
  ) {}

  update(): void {
    const assessment = this.assessment();
    const theme = document.documentElement.dataset.theme ?? "";
    if (this.drawn === assessment && this.theme === theme && this.element.childElementCount > 0) {
      this.chart.redraw();
      return;
    }
    this.drawn = assessment;
    this.theme = theme;
    const { recording } = this.app;
    if (recording.values.rows === 0) {
      this.element.className = "whole";
      fill(
        this.element,
        empty("No gradient values were recorded.", "Record with values=True to see norms, NaN and Inf, vanishing and exploding gradients."),
      );
      return;
    }
    this.element.className = "thirds";
    const { passes, parameters } = parameterNorms(recording, assessment);
    fill(
      this.element,
      this.badList(assessment),
      h("div", { class: "chart-box" }, this.chartTitle, this.chart.element),
      this.table(passes, parameters),
    );
    this.drawChart(passes, parameters);
  }

  private badList(assessment: Assessment): HTMLElement {
    const { app } = this;
    const { recording } = app;
    const bad: number[] = [];
    for (let n = 0; n < recording.nodes.rows; n++) if (assessment.ofNode[n]! > Health.fine) bad.push(n);
    bad.sort(
      (a, b) =>
        assessment.ofNode[b]! - assessment.ofNode[a]! ||
        recording.values.event[recording.valuesOf(a)[0]!]! - recording.values.event[recording.valuesOf(b)[0]!]!,
    );
    const kinds = [Health.nan, Health.inf, Health.exploding, Health.vanishing, Health.zero].filter((k) => assessment.counts[k]! > 0);
    return h(
      "div",
      {},
      h("h3", { class: "block-title" }, "Gradients"),
      h(
        "p",
        { class: "chips" },
        ...kinds.map((k) =>
          h("span", { class: k >= Health.exploding ? "chip bad" : "chip warn" }, `${count(assessment.counts[k]!)} ${HEALTH_NAMES[k]}`),
        ),
        h("span", { class: "chip" }, `${count(assessment.counts[Health.fine]!)} fine`),
      ),
      assessment.firstBad >= 0
        ? h(
            "p",
            {},
            h(
              "button",
              { type: "button", class: "plain alert", onclick: this.goToFirstBad },
              `Go to the first: ${recording.title(recording.values.node[assessment.firstBad]!)}`,
            ),
          )
        : null,
      assessment.firstBad >= 0 ? this.makers(recording.values.node[assessment.firstBad]!) : null,
      bad.length === 0
        ? h("p", { class: "none" }, "Every recorded gradient is finite and of usual size.")
        : h(
            "ol",
            { class: "node-list three" },
            ...bad.slice(0, SHOWN).map((n) =>
              h(
                "li",
                {},
                nodeLink(
                  recording.title(n),
                  () => {
                    const row = recording.valuesOf(n)[0]!;
                    app.seek(recording.values.event[row]!);
                    app.select(n);
                  },
                  recording.place(n),
                ),
                h("span", { class: "aside" }, recording.modulePath(recording.nodes.module[n]!)),
                h("span", { class: assessment.ofNode[n]! >= Health.exploding ? "aside bad-text" : "aside" }, HEALTH_NAMES[assessment.ofNode[n]!]!),
              ),
            ),
          ),
      bad.length > SHOWN ? h("p", { class: "none" }, `and ${count(bad.length - SHOWN)} more`) : null,
      h("details", {}, h("summary", {}, "How they are judged"), h("p", { class: "hint" }, HEALTH_RULE)),
    );
  }

  /** The first bad gradient enters this node, so a node above it made it. */
  private makers(node: number): HTMLElement | null {
    const { app } = this;
    const { recording } = app;
    const above = [...new Set(Array.from(recording.into.of(node), (e) => recording.edges.from[e]!))];
    if (above.length === 0) return null;
    return h(
      "p",
      { class: "hint makers" },
      "It was made by ",
      ...above.slice(0, 4).flatMap((n, i) => [i > 0 ? " or " : "", nodeLink(recording.title(n), () => app.select(n))]),
      recording.place(above[0]!) ? ` (${recording.place(above[0]!)}).` : ".",
    );
  }

  private drawChart(passes: number[], parameters: ParameterNorms[]): void {
    const { app } = this;
    const { recording } = app;
    if (passes.length > 1) {
      fill(
        this.chartTitle,
        "Norms over passes",
        h("span", { class: "aside" }, parameters.length > FEW ? "largest, median and smallest parameter; root mean square" : "root mean square"),
      );
      const sorted = passes.map((_, i) =>
        parameters
          .map((p) => p.norms[i]!)
          .filter((v) => v !== null && v > 0)
          .sort((a, b) => a - b),
      );
      const pick = (share: number): (number | null)[] =>
        sorted.map((list) => (list.length > 0 ? list[Math.min(list.length - 1, Math.floor(share * list.length))]! : null));
      const series: Series[] =
        parameters.length > FEW
          ? [
              { label: "largest", values: pick(1), dash: [4, 3] },
              { label: "median", values: pick(0.5) },
              { label: "smallest", values: pick(0), dash: [2, 2] },
            ]
          : parameters.map((p) => ({ label: p.name, values: p.norms.map((v) => (v !== null && v > 0 ? v : null)) }));
      const starts = passes.map((p) => (recording.passes.step[p]! >= 0 ? recording.passes.step[p]! : p));
      this.chart.set({
        x: starts,
        series,
        log: true,
        formatX: (x) => (Number.isInteger(x) ? String(x) : ""),
        formatY: value,
        mark: () => {
          const at = passes.indexOf(app.view);
          return at < 0 ? null : starts[at]!;
        },
      });
    } else {
      const drawn = parameters.some((p) => p.norms[0]! > 0);
      const hint = drawn ? "parameters from the loss down; root mean square" : "every norm is zero or missing, so there is nothing to draw";
      fill(this.chartTitle, "Norms by layer", h("span", { class: "aside" }, hint));
      const ordered = parameters.slice().sort((a, b) => recording.values.event[a.rows[0]!]! - recording.values.event[b.rows[0]!]!);
      this.chart.set({
        x: ordered.map((_, i) => i + 1),
        series: [{ label: "rms", values: ordered.map((p) => (p.norms[0] !== null && p.norms[0]! > 0 ? p.norms[0]! : null)) }],
        log: true,
        formatX: (x) => (Number.isInteger(x) ? String(x) : ""),
        formatY: value,
        mark: () => {
          const at = ordered.findIndex((p) => p.node === app.node);
          return at < 0 ? null : at + 1;
        },
        chosen: (x) => {
          const p = ordered[Math.round(x) - 1];
          if (p) app.select(p.node);
        },
      });
    }
  }

  private table(passes: number[], parameters: ParameterNorms[]): HTMLElement {
    const { app } = this;
    const all = parameters.flatMap((p) => p.norms).filter((v): v is number => v !== null && v > 0);
    const low = Math.log10(Math.min(...all, 1)),
      high = Math.log10(Math.max(...all, 1e-30));
    const few = passes.length > 1 && parameters.length <= FEW; // then each has a line of its own in the chart
    const rows = parameters.slice(0, SHOWN).map((p, i) => {
      const last = p.norms.findLast((v) => v !== null) ?? NaN;
      return h(
        "tr",
        {},
        h(
          "td",
          { class: "wide" },
          few ? key(i) : null,
          nodeLink(p.name, () => app.select(p.node)),
        ),
        passes.length > 1 ? h("td", {}, spark(p.norms, low, high)) : null,
        h("td", { class: "right numbers" }, p.health === Health.nan ? "NaN" : value(last)),
        h("td", { class: p.health >= Health.exploding ? "bad-text" : "aside" }, p.health > Health.fine ? HEALTH_NAMES[p.health]! : ""),
      );
    });
    const { params } = app.recording;
    for (let i = 0; i < params.rows; i++) {
      if (params.grad[i] !== "none" || rows.length >= SHOWN) continue;
      const name = app.recording.text(params.name[i]!);
      rows.push(
        h(
          "tr",
          {},
          h("td", { class: "wide" }, params.node[i]! >= 0 ? nodeLink(name, () => app.select(params.node[i]!)) : name),
          passes.length > 1 ? h("td", {}) : null,
          h("td", { class: "right" }, "None"),
          h("td", { class: "aside" }, "no gradient"),
        ),
      );
    }
    return h(
      "div",
      {},
      h("h3", { class: "block-title" }, "Parameters", h("span", { class: "aside" }, plural(parameters.length, "parameter"))),
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "parameter"),
            passes.length > 1 ? h("th", {}, `${passes.length} passes, log scale`) : null,
            h("th", { class: "right" }, passes.length > 1 ? "last" : "rms"),
            h("th", {}),
          ),
        ),
        h("tbody", {}, ...rows),
      ),
      parameters.length > SHOWN ? h("p", { class: "none" }, `and ${count(parameters.length - SHOWN)} more`) : null,
    );
  }
}

/** The color of a parameter's line in the chart. */
function key(series: number): HTMLElement {
  const dot = h("i", { class: "key", "aria-hidden": "true" });
  dot.style.background = readPalette().series[series]!;
  return dot;
}

function spark(norms: (number | null)[], low: number, high: number): HTMLCanvasElement {
  const w = 120,
    height = 18;
  const canvas = h("canvas", { class: "spark", width: 2 * w, height: 2 * height, "aria-hidden": "true" });
  const c = canvas.getContext("2d")!;
  const palette = readPalette();
  c.scale(2, 2);
  c.strokeStyle = palette.series[0]!;
  c.lineWidth = 1.3;
  c.beginPath();
  const x = (i: number): number => 2 + (i / Math.max(1, norms.length - 1)) * (w - 4);
  norms.forEach((v, i) => {
    if (v !== null && v > 0) c.lineTo(x(i), height - 2 - ((Math.log10(v) - low) / Math.max(1e-9, high - low)) * (height - 4));
  });
  c.stroke();
  c.fillStyle = palette.bad;
  norms.forEach((v, i) => {
    if (v === null) c.fillRect(x(i) - 1.5, 2, 3, height - 4);
  });
  return canvas;
}
