// histogram.ts: a small histogram of a gradient's values, drawn on a canvas, with its range in text below.
import { h } from "./dom.ts";
import { count, value } from "./format.ts";
import { readPalette } from "./palette.ts";
import type { Histogram } from "./recording.ts";

export function histogram({ edges, counts }: Histogram): HTMLElement {
  const w = 300,
    height = 64;
  const canvas = h("canvas", {
    width: 2 * w,
    height: 2 * height,
    role: "img",
    "aria-label": `Histogram of ${count(counts.reduce((a, b) => a + b, 0))} values from ${value(edges[0] ?? NaN)} to ${value(edges[edges.length - 1] ?? NaN)}`,
  });
  const c = canvas.getContext("2d")!;
  const palette = readPalette();
  c.scale(2, 2);
  const most = Math.max(1, ...counts);
  const step = w / Math.max(1, counts.length);
  c.fillStyle = palette.series[0]!;
  counts.forEach((n, i) => {
    const size = n > 0 ? Math.max(1.5, (n / most) * (height - 2)) : 0;
    c.fillRect(i * step, height - size, Math.max(1, step - 1), size);
  });
  c.fillStyle = palette.line;
  c.fillRect(0, height - 1, w, 1);
  return h(
    "figure",
    { class: "histogram" },
    canvas,
    h("figcaption", { class: "numbers" }, h("span", {}, value(edges[0] ?? NaN)), h("span", {}, value(edges[edges.length - 1] ?? NaN))),
  );
}
