// compare_tab.ts: two recordings side by side: their totals, where they differ, and which nodes changed most.
import type { App } from "./app.ts";
import { compare, TOLERANCE, type Comparison, type Difference } from "./compare.ts";
import { empty, fill, h, nodeLink, type Child } from "./dom.ts";
import { chooseFile } from "./files.ts";
import { bytes, count, duration, value } from "./format.ts";
import { memoryCurve } from "./memory_math.ts";
import type { Recording } from "./recording.ts";
import { bytesSaved, durations } from "./tallies.ts";

function totals(recording: Recording): number[] {
  const curve = memoryCurve(recording);
  const sum = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);
  return [
    recording.nodes.rows,
    recording.edges.rows,
    recording.events.length,
    sum(durations(recording).total),
    sum(bytesSaved(recording)),
    Math.max(0, ...curve.bytes),
  ];
}

export class CompareTab {
  readonly element = h("div", { class: "split even" });
  private known: { a: Recording; b: Recording; result: Comparison } | null = null;

  constructor(private readonly app: App) {}

  update(): void {
    const { app } = this;
    const { recording, other } = app;
    if (!other) {
      this.known = null;
      this.element.className = "whole";
      fill(
        this.element,
        h(
          "div",
          { class: "empty" },
          h("p", {}, "Compare this recording with a second one: where do they differ first: in structure, in order or in a value?"),
          h(
            "p",
            {},
            h(
              "button",
              { type: "button", class: "plain", onclick: () => chooseFile((r, name) => app.compareWith(r, name)) },
              "Open a second recording",
            ),
          ),
        ),
      );
      return;
    }
    if (this.known?.a === recording && this.known.b === other) return;
    this.element.className = "split even";
    const result = compare(recording, other);
    this.known = { a: recording, b: other, result };
    fill(this.element, this.summary(result), this.changes(result));
  }

  private summary(result: Comparison): HTMLElement {
    const { app } = this;
    const other = app.other!;
    const names = ["nodes", "edges", "events", "time in nodes", "bytes saved", "peak memory"];
    const formats = [count, count, count, duration, bytes, bytes];
    const [mine, theirs] = [totals(app.recording), totals(other)];
    const verdict = (title: string, found: Difference | null, same: string, details: (d: Difference) => Child[]): HTMLElement =>
      h("div", { class: found ? "verdict differs" : "verdict" }, h("b", {}, title), found ? h("span", {}, ...details(found)) : h("span", {}, same));
    const link = (d: Difference): Child =>
      d.a >= 0
        ? nodeLink(app.recording.title(d.a), () => {
            app.seek(result.pairs[d.at]?.eventA ?? app.recording.eventsOf(d.a)[0] ?? app.event);
            app.select(d.a);
          })
        : "the end";
    const noValues = app.recording.values.rows === 0 || other.values.rows === 0;
    return h(
      "div",
      {},
      h(
        "h3",
        { class: "block-title" },
        "Where they differ",
        h("button", { type: "button", class: "plain small-button push", onclick: () => app.compareWith(null, "") }, "Close the second"),
      ),
      verdict(
        result.parted?.kind === "order" ? "Order" : "Structure",
        result.parted,
        `The same ${count(result.pairs.length)} nodes ran in the same order.`,
        (d) => [`At node ${count(d.at + 1)} of the run, `, link(d), `: ${d.what}.`],
      ),
      verdict(
        "Values",
        result.value,
        noValues
          ? "At least one recording has no values; record both with values=True."
          : result.compared === 0
            ? "Not compared: no node ran at the same place in both."
            : `${result.parted ? `The gradients of the first ${count(result.pairs.length)} nodes agree` : "All gradients agree"} to ${TOLERANCE} of their size.`,
        (d) => {
          const v = result.value!;
          const key = v.what as "norm";
          return [
            `First at node ${count(d.at + 1)} of the run, `,
            link(d),
            `: ${v.what} ${value(app.recording.values[key][v.rowA]!)} against ${value(other.values[key][v.rowB]!)}.`,
          ];
        },
      ),
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}),
            h("th", { class: "right" }, app.name || "this"),
            h("th", { class: "right" }, app.otherName || "second"),
            h("th", { class: "right" }, "ratio"),
          ),
        ),
        h(
          "tbody",
          {},
          ...names.map((name, i) =>
            h(
              "tr",
              {},
              h("td", {}, name),
              h("td", { class: "right numbers" }, formats[i]!(mine[i]!)),
              h("td", { class: "right numbers" }, formats[i]!(theirs[i]!)),
              h("td", { class: "right numbers" }, mine[i]! > 0 ? (theirs[i]! / mine[i]!).toFixed(2) : "–"),
            ),
          ),
        ),
      ),
    );
  }

  private changes(result: Comparison): HTMLElement {
    const { app } = this;
    if (result.changes.length === 0) return h("div", {}, empty("No node ran at the same place in both."));
    return h(
      "div",
      {},
      h("h3", { class: "block-title" }, "Largest changes of time", h("span", { class: "aside" }, "of the nodes up to the first difference")),
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "node"),
            h("th", {}, "line"),
            h("th", { class: "right" }, "this"),
            h("th", { class: "right" }, "second"),
            h("th", { class: "right" }, "change"),
          ),
        ),
        h(
          "tbody",
          {},
          ...result.changes.map(({ pair, timeA, timeB }) =>
            h(
              "tr",
              {},
              h(
                "td",
                { class: "wide" },
                nodeLink(app.recording.title(pair.a), () => app.select(pair.a)),
              ),
              h("td", {}, app.recording.place(pair.a)),
              h("td", { class: "right numbers" }, duration(timeA)),
              h("td", { class: "right numbers" }, duration(timeB)),
              h("td", { class: "right numbers" }, `${timeB >= timeA ? "+" : "−"}${duration(Math.abs(timeB - timeA))}`),
            ),
          ),
        ),
      ),
    );
  }
}
