// chart.ts: line charts in the page's colors (uPlot), with the moment of the current event marked.
import uPlot from "uplot";
import { h } from "./dom.ts";
import { readPalette } from "./palette.ts";

export interface Series {
  label: string;
  values: (number | null)[];
  color?: string;
  dash?: number[];
  fill?: boolean;
}
export interface ChartOptions {
  x: number[];
  series: Series[];
  formatX: (x: number) => string;
  formatY: (y: number) => string;
  log?: boolean;
  binary?: boolean; // the y axis has marks at multiples of powers of two, as sizes in bytes have
  stepped?: boolean;
  chosen?: (x: number) => void;
  mark?: () => number | null;
}

/** Powers of ten between two values, about six of them. */
function decades(low: number, high: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9),
    last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / 5));
  const out: number[] = [];
  for (let e = first; e <= last; e += step) out.push(10 ** e);
  return out;
}

export class Chart {
  readonly element = h("div", { class: "chart" });
  private plot: uPlot | null = null;
  private readonly observer = new ResizeObserver(() => this.resize());

  constructor() {
    this.observer.observe(this.element);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (this.plot && width > 0 && height > 0) this.plot.setSize({ width, height });
  }

  redraw(): void {
    this.plot?.redraw(false);
  }

  set(options: ChartOptions): void {
    this.plot?.destroy();
    const palette = readPalette();
    const { chosen, mark } = options;
    const font = '11px "Inter Variable", sans-serif';
    const axis = { stroke: palette.muted, font, grid: { stroke: palette.line, width: 1 }, ticks: { show: false } };
    const { clientWidth, clientHeight } = this.element;
    this.plot = new uPlot(
      {
        width: Math.max(200, clientWidth),
        height: Math.max(80, clientHeight),
        legend: { show: false },
        cursor: { points: { size: 6 }, drag: { x: true, y: false } },
        scales: {
          x: { time: false },
          y: options.log ? { distr: 3, log: 10 } : { range: (_u, low, high) => [Math.min(0, low), high > 0 ? high * 1.06 : 1] },
        },
        axes: [
          { ...axis, values: (_u, at) => at.map(options.formatX) },
          {
            ...axis,
            size: 66,
            space: 22,
            incrs: options.binary ? Array.from({ length: 50 }, (_, i) => 2 ** i) : undefined,
            splits: options.log ? (_u, _i, low, high) => decades(low, high) : undefined,
            values: (_u, at) => at.map((v) => (v === null ? "" : options.formatY(v))),
          },
        ],
        series: [
          {},
          ...options.series.map((s, i) => ({
            label: s.label,
            stroke: s.color ?? palette.series[i % palette.series.length]!,
            width: 1.5,
            spanGaps: true,
            dash: s.dash,
            fill: s.fill ? (s.color ?? palette.series[0]!) + "22" : undefined,
            paths: options.stepped ? uPlot.paths.stepped!({ align: 1 }) : undefined,
            points: { show: options.x.length < 40 },
          })),
        ],
        hooks: {
          draw: [
            (u) => {
              const at = mark?.() ?? null;
              if (at === null) return;
              const x = Math.round(u.valToPos(at, "x", true)) + 0.5;
              u.ctx.save();
              u.ctx.strokeStyle = palette.ink;
              u.ctx.lineWidth = 1.5 * devicePixelRatio;
              u.ctx.beginPath();
              u.ctx.moveTo(x, u.bbox.top);
              u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
              u.ctx.stroke();
              u.ctx.restore();
            },
          ],
          ready: [
            (u) => {
              u.over.addEventListener("click", () => {
                if (chosen && u.cursor.left! >= 0) chosen(u.posToVal(u.cursor.left!, "x"));
              });
            },
          ],
        },
      },
      [options.x, ...options.series.map((s) => s.values)] as uPlot.AlignedData,
      this.element,
    );
  }
}
