// palette.ts: the colors of the style sheet, for drawing on a canvas.

export interface Palette {
  background: string;
  panel: string;
  ink: string;
  muted: string;
  faint: string;
  line: string;
  edge: string;
  edgeDone: string;
  group: string;
  groupDeep: string;
  state: { fill: string; line: string; text: string }[]; // by Status
  bad: string;
  badFill: string;
  warn: string;
  series: string[];
}

export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const state = (name: string): { fill: string; line: string; text: string } => ({
    fill: get(`${name}-fill`),
    line: get(`${name}-line`),
    text: get(`${name}-text`),
  });
  return {
    background: get("background"),
    panel: get("panel"),
    ink: get("ink"),
    muted: get("muted"),
    faint: get("faint"),
    line: get("line"),
    edge: get("edge"),
    edgeDone: get("edge-done"),
    group: get("group"),
    groupDeep: get("group-deep"),
    state: ["idle", "waiting", "ready", "running", "done", "failed"].map(state),
    bad: get("bad"),
    badFill: get("bad-fill"),
    warn: get("warn"),
    series: [1, 2, 3, 4, 5, 6].map((i) => get(`series-${i}`)),
  };
}
