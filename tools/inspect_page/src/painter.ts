// painter.ts: the few shapes the graph is made of, drawn on a canvas or written as SVG, so that what is exported is what is seen.

export interface Style {
  fill?: string;
  stroke?: string;
  width?: number;
  dash?: number[];
  alpha?: number;
}
export interface TextStyle {
  size: number;
  weight?: number;
  color: string;
  mono?: boolean;
  align?: "left" | "right" | "center";
}

export interface Painter {
  rect(x: number, y: number, w: number, h: number, radius: number, style: Style): void;
  /** A line through points: straight when vertical or horizontal, otherwise a curve with vertical ends. */
  route(points: Float64Array, style: Style): void;
  polyline(points: number[], style: Style, closed?: boolean): void;
  circle(x: number, y: number, r: number, style: Style): void;
  text(text: string, x: number, y: number, style: TextStyle): void;
}

export const SANS = '"Inter Variable", Inter, system-ui, sans-serif';
const MONO = 'ui-monospace, "SF Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

export class CanvasPainter implements Painter {
  constructor(private readonly c: CanvasRenderingContext2D) {}

  private paint(style: Style): void {
    const { c } = this;
    c.globalAlpha = style.alpha ?? 1;
    if (style.fill) {
      c.fillStyle = style.fill;
      c.fill();
    }
    if (style.stroke) {
      c.strokeStyle = style.stroke;
      c.lineWidth = style.width ?? 1;
      c.setLineDash(style.dash ?? []);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  rect(x: number, y: number, w: number, h: number, radius: number, style: Style): void {
    this.c.beginPath();
    if (radius > 0) this.c.roundRect(x, y, w, h, radius);
    else this.c.rect(x, y, w, h);
    this.paint(style);
  }

  route(p: Float64Array, style: Style): void {
    if (p.length < 4) return;
    const { c } = this;
    c.beginPath();
    c.moveTo(p[0]!, p[1]!);
    for (let k = 2; k < p.length; k += 2) {
      const middle = (p[k - 1]! + p[k + 1]!) / 2;
      if (Math.abs(p[k]! - p[k - 2]!) < 0.5 || p[k + 1] === p[k - 1]) c.lineTo(p[k]!, p[k + 1]!);
      else c.bezierCurveTo(p[k - 2]!, middle, p[k]!, middle, p[k]!, p[k + 1]!);
    }
    this.paint(style);
  }

  polyline(points: number[], style: Style, closed = false): void {
    this.c.beginPath();
    for (let k = 0; k < points.length; k += 2) this.c.lineTo(points[k]!, points[k + 1]!);
    if (closed) this.c.closePath();
    this.paint(style);
  }

  circle(x: number, y: number, r: number, style: Style): void {
    this.c.beginPath();
    this.c.arc(x, y, r, 0, 2 * Math.PI);
    this.paint(style);
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const font = `${style.weight ?? 400} ${style.size}px ${style.mono ? MONO : SANS}`;
    if (this.c.font !== font) this.c.font = font;
    this.c.fillStyle = style.color;
    this.c.textAlign = style.align ?? "left";
    this.c.fillText(text, x, y);
  }
}

export class SvgPainter implements Painter {
  readonly svg: SVGSVGElement;
  private static readonly NS = "http://www.w3.org/2000/svg";

  constructor(x: number, y: number, w: number, h: number, background: string, title: string) {
    this.svg = document.createElementNS(SvgPainter.NS, "svg");
    this.svg.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
    this.svg.setAttribute("width", String(Math.round(w)));
    this.svg.setAttribute("height", String(Math.round(h)));
    const name = document.createElementNS(SvgPainter.NS, "title");
    name.textContent = title;
    this.svg.append(name);
    this.rect(x, y, w, h, 0, { fill: background });
  }

  private add(tag: string, attributes: Record<string, string | number>, style: Style): void {
    const element = document.createElementNS(SvgPainter.NS, tag);
    for (const [key, value] of Object.entries(attributes))
      element.setAttribute(key, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
    element.setAttribute("fill", style.fill ?? "none");
    if (style.stroke) {
      element.setAttribute("stroke", style.stroke);
      element.setAttribute("stroke-width", String(style.width ?? 1));
      if (style.dash?.length) element.setAttribute("stroke-dasharray", style.dash.join(" "));
    }
    if (style.alpha !== undefined && style.alpha < 1) element.setAttribute("opacity", String(style.alpha));
    this.svg.append(element);
  }

  rect(x: number, y: number, width: number, height: number, rx: number, style: Style): void {
    this.add("rect", { x, y, width, height, rx }, style);
  }

  route(p: Float64Array, style: Style): void {
    if (p.length < 4) return;
    const at = (v: number): string => String(Math.round(v * 10) / 10);
    let d = `M${at(p[0]!)} ${at(p[1]!)}`;
    for (let k = 2; k < p.length; k += 2) {
      const middle = at((p[k - 1]! + p[k + 1]!) / 2);
      d +=
        Math.abs(p[k]! - p[k - 2]!) < 0.5 || p[k + 1] === p[k - 1]
          ? `L${at(p[k]!)} ${at(p[k + 1]!)}`
          : `C${at(p[k - 2]!)} ${middle} ${at(p[k]!)} ${middle} ${at(p[k]!)} ${at(p[k + 1]!)}`;
    }
    this.add("path", { d }, style);
  }

  polyline(points: number[], style: Style, closed = false): void {
    this.add(closed ? "polygon" : "polyline", { points: points.map((v) => Math.round(v * 10) / 10).join(" ") }, style);
  }

  circle(cx: number, cy: number, r: number, style: Style): void {
    this.add("circle", { cx, cy, r }, style);
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const element = document.createElementNS(SvgPainter.NS, "text");
    element.textContent = text;
    const anchor = { left: "start", right: "end", center: "middle" }[style.align ?? "left"];
    for (const [key, value] of Object.entries({
      x,
      y,
      "font-size": style.size,
      "font-weight": style.weight ?? 400,
      fill: style.color,
      "text-anchor": anchor,
      "font-family": style.mono ? MONO : SANS,
    }))
      element.setAttribute(key, String(value));
    this.svg.append(element);
  }
}

const widths = new Map<string, number>();
let ruler: CanvasRenderingContext2D | null = null;

/** The width of text at 12 px, from the widths of its letters: fast enough for 100,000 names. */
export function textWidth(text: string): number {
  ruler ??= document.createElement("canvas").getContext("2d")!;
  let sum = 0;
  for (const letter of text) {
    let w = widths.get(letter);
    if (w === undefined) {
      ruler.font = `500 12px ${SANS}`;
      widths.set(letter, (w = ruler.measureText(letter).width));
    }
    sum += w;
  }
  return sum;
}

export function shorten(text: string, width: number, size: number): string {
  if ((textWidth(text) * size) / 12 <= width) return text;
  let keep = text.length;
  while (keep > 1 && (textWidth(text.slice(0, keep) + "…") * size) / 12 > width) keep--;
  return text.slice(0, keep) + "…";
}
