// timeline.ts: what each thread did when: its modules and nodes, nested where a pass ran inside another, with the moment of the current event.
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomTransform } from "d3-zoom";
import type { App } from "./app.ts";
import { h } from "./dom.ts";
import { duration } from "./format.ts";
import { moduleBars, MOST_LEVELS, type Bar } from "./module_bars.ts";
import { SANS, shorten } from "./painter.ts";
import { readPalette, type Palette } from "./palette.ts";
import { Kind } from "./recording.ts";
import { durations, type Slice } from "./tallies.ts";

const LEFT = 120,
  AXIS = 22,
  ROW = 22,
  MOST_ROW = 40,
  BAR = 17,
  LANE_GAP = 10;

interface Lane {
  thread: number;
  depth: number;
  slices: Slice[];
  bars: Bar[][]; // of modules, above the nodes
  levels: number; // of them that are drawn
  top: number; // of the nodes
}

/** Steps of 1, 2 or 5 times a power of ten, about `count` of them. */
function niceStep(span: number, count: number): number {
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * (raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1);
}

/** The first of some spans, in order of time, that does not end before `time`. */
function firstAfter(spans: { end: number }[], time: number): number {
  let low = 0,
    high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle]!.end < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Timeline {
  readonly element = h("div", { class: "timeline" });
  private readonly canvas = h("canvas", {
    class: "timeline-canvas",
    tabindex: 0,
    role: "img",
    "aria-label": "Timeline by thread. The table of slowest nodes has the same figures.",
  });
  private readonly behavior = zoom<HTMLCanvasElement, unknown>().scaleExtent([1, 1e7]);
  private transform: ZoomTransform = zoomIdentity;
  private lanes: Lane[] = [];
  private forwards: number[] = []; // times
  private row = ROW; // height of a row of nodes
  private start = 0;
  private end = 1;
  private waiting = false;
  private palette = readPalette();
  private width = 0;
  private height = 0;

  constructor(private readonly app: App) {
    this.element.append(this.canvas);
    select(this.canvas)
      .call(
        this.behavior.on("zoom", (event: { transform: ZoomTransform }) => {
          this.transform = event.transform;
          this.redraw();
        }),
      )
      .on("dblclick.zoom", null);
    this.canvas.addEventListener("dblclick", () => select(this.canvas).call(this.behavior.transform, zoomIdentity));
    this.canvas.addEventListener("click", (e) => this.click(e));
    this.canvas.addEventListener("pointermove", (e) => {
      const s = this.at(e),
        bar = s ? null : this.barAt(e);
      const what = s ? app.recording.title(s.node) : bar ? app.recording.modulePath(bar.module) : "";
      const span = s ?? bar;
      this.canvas.title = span ? `${what}: ${duration(span.end - span.start)}` : "";
    });
    new ResizeObserver(() => this.resize()).observe(this.element);
    app.on(["recording", "grown"], () => {
      this.collect();
      this.redraw();
    });
    app.on(["event", "selection"], () => this.redraw());
    app.on(["theme"], () => {
      this.palette = readPalette();
      this.redraw();
    });
  }

  /** Reads the slices again; a live recording has grown. */
  collect(): void {
    const { recording } = this.app;
    const lanes = new Map<string, Lane>();
    for (const slice of durations(recording).slices) {
      const key = `${slice.thread} ${slice.depth}`;
      let lane = lanes.get(key);
      if (!lane) lanes.set(key, (lane = { thread: slice.thread, depth: slice.depth, slices: [], bars: [], levels: 0, top: 0 }));
      lane.slices.push(slice);
    }
    const bars = moduleBars(recording);
    for (const lane of lanes.values()) lane.bars = bars(lane.slices);
    this.lanes = [...lanes.values()].sort((a, b) => a.thread - b.thread || a.depth - b.depth);
    const { kind, time, length } = recording.events;
    this.forwards = [];
    for (let i = 0; i < length; i++) if (kind[i] === Kind.forward) this.forwards.push(time[i]!);
    this.start = length > 0 ? time[0]! : 0;
    this.end = Math.max(length > 0 ? time[length - 1]! : 1, this.start + 1);
    this.resize();
  }

  /** Gives each lane its place, with as many rows of modules as there is room for; returns the height of all. */
  private place(room: number): number {
    let height = 0;
    for (let levels = MOST_LEVELS; levels >= 0; levels--) {
      height = AXIS + 6 + (this.forwards.length > 0 ? ROW + LANE_GAP : 0);
      this.lanes.forEach((lane, i) => {
        if (i > 0 && this.lanes[i - 1]!.thread !== lane.thread) height += LANE_GAP;
        lane.levels = Math.min(levels, lane.bars.length);
        lane.top = height + lane.levels * BAR;
        height = lane.top + ROW + 1;
      });
      if (height <= room) break;
    }
    const more = Math.floor((room - height) / Math.max(1, this.lanes.length)); // what is left makes the rows of nodes higher
    this.row = Math.max(ROW, Math.min(MOST_ROW, ROW + more));
    this.lanes.forEach((lane, i) => {
      lane.top += i * (this.row - ROW);
    });
    return height + this.lanes.length * (this.row - ROW);
  }

  private resize(): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.element.clientWidth; // asking for it makes the browser lay out the page, so it is kept
    const room = this.element.clientHeight;
    this.height = Math.max(room, this.place(room)); // more threads than fit: the panel scrolls
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const extent: [[number, number], [number, number]] = [
      [LEFT, 0],
      [Math.max(LEFT + 1, this.width), 1],
    ];
    this.behavior.extent(extent).translateExtent(extent);
    this.draw();
  }

  redraw(): void {
    if (this.waiting || !this.element.isConnected) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  private x(time: number): number {
    return this.transform.applyX(LEFT + ((time - this.start) / (this.end - this.start)) * (this.width - LEFT - 14));
  }

  private time(x: number): number {
    return this.start + ((this.transform.invertX(x) - LEFT) / (this.width - LEFT - 14)) * (this.end - this.start);
  }

  private draw(): void {
    const { width, height } = this;
    if (width === 0 || !this.app.recording) return;
    const c = this.canvas.getContext("2d")!;
    const { app, palette } = this;
    const ratio = window.devicePixelRatio || 1;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = palette.panel;
    c.fillRect(0, 0, width, height);
    c.font = `11px ${SANS}`;
    c.textBaseline = "alphabetic";
    c.textAlign = "left";
    if (app.recording.events.length === 0) {
      c.fillStyle = palette.muted;
      c.fillText("No event was recorded.", 14, AXIS + 20);
      return;
    }
    c.save();
    c.beginPath();
    c.rect(LEFT, 0, width - LEFT, height);
    c.clip();
    const from = this.time(LEFT),
      to = this.time(width);
    const step = niceStep(to - from, Math.max(2, (width - LEFT) / 130));
    for (let t = Math.ceil((from - this.start) / step) * step; t <= to - this.start; t += step) {
      const x = Math.round(this.x(t + this.start)) + 0.5;
      c.strokeStyle = palette.line;
      c.beginPath();
      c.moveTo(x, AXIS);
      c.lineTo(x, height);
      c.stroke();
      c.fillStyle = palette.muted;
      if (x < width - 56) c.fillText(duration(t), x + 4, 15);
    }
    if (this.forwards.length > 0) this.drawForward(c, palette.series[5]!);
    const now = app.event >= 0 ? app.recording.events.time[app.event]! : this.start;
    for (const lane of this.lanes) {
      lane.bars.slice(0, lane.levels).forEach((row, level) => this.drawBars(c, row, this.barTop(lane, level), from, to, palette));
    }
    for (const lane of this.lanes) this.drawLane(c, lane, from, to, now, palette);
    c.strokeStyle = palette.ink;
    c.lineWidth = 1.5;
    const x = Math.round(this.x(now)) + 0.5;
    c.beginPath();
    c.moveTo(x, 0);
    c.lineTo(x, height);
    c.stroke();
    c.restore();
    c.fillStyle = palette.muted;
    if (this.forwards.length > 0) c.fillText("forward", 14, AXIS + 20);
    this.lanes.forEach((lane, i) => {
      if (i > 0 && this.lanes[i - 1]!.thread === lane.thread) return;
      const name =
        lane.thread >= 0 && lane.thread < app.recording.threads.rows
          ? app.recording.text(app.recording.threads.name[lane.thread]!) || `thread ${app.recording.threads.number[lane.thread]}`
          : "thread";
      c.fillStyle = palette.ink;
      c.fillText(shorten(name, LEFT - 26, 11), 14, this.barTop(lane, 0) + 14);
    });
  }

  private drawForward(c: CanvasRenderingContext2D, color: string): void {
    c.fillStyle = color;
    let last = -1;
    for (const time of this.forwards) {
      const x = Math.round(this.x(time));
      if (x === last) continue;
      last = x;
      c.fillRect(x, AXIS + 8, 1.5, ROW - 4);
    }
  }

  private barTop(lane: Lane, level: number): number {
    return lane.top - (lane.levels - level) * BAR;
  }

  private drawBars(c: CanvasRenderingContext2D, row: Bar[], top: number, from: number, to: number, palette: Palette): void {
    const { recording } = this.app;
    let filledTo = -1;
    for (let i = firstAfter(row, from); i < row.length && row[i]!.start <= to; i++) {
      const bar = row[i]!;
      const x = this.x(bar.start),
        right = this.x(bar.end);
      if (right - filledTo < 1.5) continue; // several bars share this pixel
      filledTo = right;
      const left = Math.max(x, LEFT),
        w = Math.max(right - x - (right - x > 4 ? 1 : 0), 1);
      c.fillStyle = palette.groupDeep;
      c.fillRect(x, top, w, BAR - 2);
      if (w > 6) {
        c.strokeStyle = palette.edge;
        c.lineWidth = 1;
        c.strokeRect(x + 0.5, top + 0.5, w - 1, BAR - 3);
      }
      const room = Math.min(right, this.width) - left - 10;
      if (room < 16) continue;
      c.fillStyle = palette.muted;
      c.fillText(shorten(recording.modulePath(bar.module).split(".").pop()!, room, 11), left + 5, top + 11.5);
    }
  }

  private drawLane(c: CanvasRenderingContext2D, lane: Lane, from: number, to: number, now: number, palette: Palette): void {
    const { app } = this;
    const { slices } = lane;
    let filledTo = -1;
    for (let i = firstAfter(slices, from); i < slices.length && slices[i]!.start <= to; i++) {
      const slice = slices[i]!;
      const x = this.x(slice.start),
        right = this.x(Math.max(slice.end, slice.start));
      const selected = slice.node === app.node;
      if (right - filledTo < 0.7 && !selected) continue; // several slices share this pixel
      const state = slice.end <= now ? 4 : slice.start <= now ? 3 : 0;
      const colors = palette.state[state]!;
      const left = Math.max(x, LEFT),
        w = Math.max(right - x - (right - x > 3 ? 0.7 : 0), 0.8);
      c.fillStyle = w < 3 ? (state === 0 ? palette.edge : colors.line) : state === 0 ? palette.groupDeep : colors.fill;
      c.fillRect(x, lane.top, w, this.row - 1);
      if (w >= 3) {
        c.strokeStyle = colors.line;
        c.lineWidth = 1;
        c.strokeRect(x + 0.5, lane.top + 0.5, w - 1, this.row - 2);
      }
      if (selected) {
        c.strokeStyle = palette.ink;
        c.lineWidth = 2;
        c.strokeRect(x - 1, lane.top - 1, w + 2, this.row + 1);
      }
      if (w > 34) {
        c.fillStyle = colors.text;
        c.fillText(shorten(app.recording.title(slice.node), Math.min(right, this.width) - left - 10, 11), left + 5, lane.top + this.row / 2 + 4);
      }
      filledTo = right;
    }
  }

  private at(e: MouseEvent): Slice | null {
    const lane = this.lanes.find((l) => e.offsetY >= l.top && e.offsetY < l.top + this.row);
    if (!lane || e.offsetX < LEFT) return null;
    const t = this.time(e.offsetX),
      close = this.time(e.offsetX + 2) - t;
    let best: Slice | null = null;
    for (const slice of lane.slices) if (slice.start - close <= t && slice.end + close >= t) best = slice;
    return best;
  }

  private barAt(e: MouseEvent): Bar | null {
    if (e.offsetX < LEFT) return null;
    const t = this.time(e.offsetX);
    for (const lane of this.lanes) {
      const level = Math.floor((e.offsetY - this.barTop(lane, 0)) / BAR);
      const row = level < lane.levels ? (lane.bars[level] ?? []) : [];
      const bar = row[firstAfter(row, t)];
      if (bar && bar.start <= t) return bar;
    }
    return null;
  }

  private click(e: MouseEvent): void {
    if (e.defaultPrevented) return;
    const slice = this.at(e);
    if (slice) {
      this.app.seek(slice.event);
      this.app.select(slice.node);
      return;
    }
    const bar = this.barAt(e);
    if (bar) {
      this.app.seek(bar.event);
      this.app.selectGroup(this.app.recording.modulePath(bar.module));
      return;
    }
    if (e.offsetX < LEFT) return;
    const t = this.time(e.offsetX);
    const { time, length } = this.app.recording.events;
    let low = 0,
      high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[middle]! <= t) low = middle + 1;
      else high = middle;
    }
    this.app.seek(low - 1);
  }
}
