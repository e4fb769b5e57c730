// icons.ts: the few symbols on buttons, as SVG, because no font is sure to have them.
const NS = "http://www.w3.org/2000/svg";

const PATHS: Record<string, string[]> = {
  first: ["M4 3.5v9", "M12 3.5 6.5 8l5.5 4.5z"],
  last: ["M12 3.5v9", "M4 3.5 9.5 8 4 12.5z"],
  nodeBack: ["M8.5 4 4.5 8l4 4", "M12 4 8 8l4 4"],
  nodeNext: ["M4 4l4 4-4 4", "M7.5 4l4 4-4 4"],
  back: ["M9.5 4l-4 4 4 4"],
  next: ["M6.5 4l4 4-4 4"],
  logo: ["M1.5 4c2.2 0 2.2 2 4.3 2s2.2-2 4.4-2 2.2 2 4.3 2", "M14.5 11H3.5", "M6.5 8l-3 3 3 3"],
};

export function icon(name: keyof typeof PATHS, size = 16): SVGElement {
  const svg = document.createElementNS(NS, "svg");
  const attributes = {
    width: size,
    height: size,
    viewBox: "0 0 16 16",
    "aria-hidden": "true",
    fill: "none",
    stroke: "currentColor",
    "stroke-width": 1.6,
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
  };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, String(value));
  for (const d of PATHS[name]!) {
    const path = document.createElementNS(NS, "path");
    path.setAttribute("d", d);
    if (d.endsWith("z")) path.setAttribute("fill", "currentColor");
    svg.append(path);
  }
  return svg;
}
