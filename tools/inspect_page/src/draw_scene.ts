// draw_scene.ts: paints the boxes and lines of a scene in the state of the replay. Skips what is outside the view or too small to see.
import type { App } from "./app.ts";
import * as format from "./format.ts";
import { Health, HEALTH_NAMES } from "./health.ts";
import { nodeLines, type Box, type Line, type Scene } from "./layout.ts";
import { shorten, textWidth, type Painter } from "./painter.ts";
import type { Palette } from "./palette.ts";
import { NodeKind } from "./recording.ts";
import { Status } from "./replay.ts";

export interface Look {
  app: App;
  palette: Palette;
  health: Uint8Array;
  scale: number; // pixels per unit; decides how much detail is drawn
  view: { x: number; y: number; w: number; h: number }; // what is visible, in scene coordinates
  hover: Box | null;
  tallies: Tallies;
  selected: Box | null;
}

/** How many nodes inside each box have which status, and the worst health inside. */
export class Tallies {
  private counts = new Int32Array(0);
  private worst = new Uint8Array(0);
  private stamp: unknown = null;
  private at = -1;

  update(scene: Scene, app: App, health: Uint8Array): void {
    if (this.stamp === scene && this.at === app.replay.at) return;
    if (this.counts.length !== scene.boxes.length * 6) {
      this.counts = new Int32Array(scene.boxes.length * 6);
      this.worst = new Uint8Array(scene.boxes.length);
    } else {
      this.counts.fill(0);
      this.worst.fill(0);
    }
    const { status, pass } = app.replay;
    const { counts, worst } = this;
    const tops = Int32Array.from({ length: app.recording.passes.rows }, (_, p) => app.recording.topPass(p));
    for (const node of app.grouping.nodes) {
      const box = scene.boxNumbers[node]!;
      const stale = status[node] === Status.done && pass[node]! >= 0 && tops[pass[node]!] !== app.view; // done in an earlier pass, not in this one
      counts[box * 6 + (stale ? Status.idle : status[node]!)]!++;
      if (health[node]! > worst[box]!) worst[box] = health[node]!;
    }
    for (let i = scene.boxes.length - 1; i > 0; i--) {
      const parent = scene.parents[i]!;
      for (let s = 0; s < 6; s++) counts[parent * 6 + s]! += counts[i * 6 + s]!;
      if (worst[i]! > worst[parent]!) worst[parent] = worst[i]!;
    }
    this.stamp = scene;
    this.at = app.replay.at;
  }

  of(box: Box, status: number): number {
    return this.counts[box.id * 6 + status]!;
  }

  health(box: Box): number {
    return this.worst[box.id]!;
  }

  /** The status that a whole box is drawn in. */
  status(box: Box): number {
    for (const s of [Status.failed, Status.running, Status.ready, Status.waiting]) if (this.of(box, s) > 0) return s;
    if (this.of(box, Status.done) > 0) return this.of(box, Status.idle) > 0 && box.node < 0 ? Status.waiting : Status.done;
    return Status.idle;
  }
}

export function drawScene(painter: Painter, scene: Scene, look: Look): void {
  drawInside(painter, scene.root, look, 0);
  drawSelection(painter, look);
}

function visible(box: { x: number; y: number; w: number; h: number }, view: Look["view"]): boolean {
  return box.x < view.x + view.w && box.x + box.w > view.x && box.y < view.y + view.h && box.y + box.h > view.y;
}

function drawInside(painter: Painter, group: Box, look: Look, depth: number): void {
  for (const box of group.children) {
    if (!box.open || !visible(box, look.view)) continue;
    drawOpenGroup(painter, box, look, depth);
  }
  const small = look.scale < 0.08;
  for (const line of group.lines) drawLine(painter, line, look, small);
  for (const box of group.children) if (!box.open && visible(box, look.view)) drawBox(painter, box, look);
}

function drawOpenGroup(painter: Painter, box: Box, look: Look, depth: number): void {
  const { palette, scale, tallies, app } = look;
  const tooSmall = box.w * scale < 26 && box.h * scale < 60;
  if (tooSmall) {
    const colors = palette.state[tallies.status(box)]!;
    painter.rect(box.x, box.y, box.w, box.h, 4, {
      fill: tallies.health(box) >= Health.exploding ? palette.bad : colors.fill,
      stroke: colors.line,
      width: 1 / scale,
    });
    return;
  }
  const group = app.grouping.groups[box.group]!;
  const fill = depth % 2 === 0 ? palette.group : palette.groupDeep;
  painter.rect(box.x, box.y, box.w, box.h, 10, {
    fill,
    stroke: look.hover === box ? palette.muted : palette.line,
    width: 1,
  });
  drawInside(painter, box, look, depth + 1);
  if (scale > 0.3) drawHeader(painter, box, look, fill);
  const below = box.parent!.parent === null ? Infinity : (box.y - box.parent!.y) * scale; // names of a group and of its first member would overlap
  if (scale <= 0.3 && box.w * scale > 70 && box.h * scale > 44 && below > 24) {
    // From afar the name lies over the content, at the size of other text on the screen.
    const size = 11 / scale;
    const label = shorten(group.label, box.w - 20 / scale, size);
    painter.rect(box.x + 4 / scale, box.y + 4 / scale, (textWidth(label) * size) / 12 + 12 / scale, 18 / scale, 4 / scale, {
      fill: palette.panel,
      alpha: 0.9,
    });
    painter.text(label, box.x + 10 / scale, box.y + 17 / scale, { size, weight: 600, color: palette.ink });
  }
}

/** The name of an open group, over the lines that enter it. */
function drawHeader(painter: Painter, box: Box, look: Look, fill: string): void {
  const { palette, app } = look;
  const group = app.grouping.groups[box.group]!;
  const label = shorten(group.label, box.w - 70, 12);
  const used = textWidth(label) * 1.04 + 34;
  const rest = shorten(group.detail || format.plural(group.count, "node"), box.w - used - 14, 11);
  const width = rest.length > 2 ? used + textWidth(rest) * 0.95 : used - 8;
  painter.rect(box.x + 8, box.y + 6, Math.min(width, box.w - 12), 18, 4, { fill });
  chevron(painter, box.x + 15, box.y + 15, true, palette.muted);
  painter.text(label, box.x + 26, box.y + 19, { size: 12, weight: 600, color: palette.ink });
  if (rest.length > 2) painter.text(rest, box.x + used, box.y + 19, { size: 11, color: palette.muted });
}

function lineDone(line: Line, look: Look): boolean {
  if (line.from !== null) return look.tallies.status(line.from) === Status.done;
  return line.to !== null && look.tallies.status(line.to) !== Status.idle; // a bundle has carried something when its end has been reached
}

function drawLine(painter: Painter, line: Line, look: Look, small: boolean): void {
  const p = line.points;
  if (p.length < 4) return;
  let left = Infinity,
    right = -Infinity,
    top = Infinity,
    bottom = -Infinity;
  for (let k = 0; k < p.length; k += 2) {
    left = Math.min(left, p[k]!);
    right = Math.max(right, p[k]!);
    top = Math.min(top, p[k + 1]!);
    bottom = Math.max(bottom, p[k + 1]!);
  }
  const { view, scale, palette } = look;
  if (right < view.x || left > view.x + view.w || bottom < view.y || top > view.y + view.h) return;
  if (small && (bottom - top + right - left) * scale < 3) return;
  const done = lineDone(line, look);
  const selected = look.selected !== null && (line.from === look.selected || line.to === look.selected);
  const stroke = selected ? palette.ink : done ? palette.edgeDone : palette.edge;
  const width = Math.min(2.5, 1 + Math.log2(line.weight) * 0.25) * (done ? 1.3 : 1);
  painter.route(p, { stroke, width: selected ? Math.max(2, 1.5 / scale) : Math.max(width, small ? 0.6 / scale : 0) });
  if (line.to !== null && scale > 0.25 && line.to.y >= p[p.length - 1]! - 1) arrow(painter, p[p.length - 2]!, p[p.length - 1]!, stroke);
}

function arrow(painter: Painter, x: number, y: number, color: string): void {
  painter.polyline([x - 3.5, y - 6, x, y, x + 3.5, y - 6], { fill: color }, true);
}

function chevron(painter: Painter, x: number, y: number, open: boolean, color: string): void {
  painter.polyline(open ? [x - 4, y - 2, x, y + 2, x + 4, y - 2] : [x - 2, y - 4, x + 2, y, x - 2, y + 4], { stroke: color, width: 1.6 });
}

function drawBox(painter: Painter, box: Box, look: Look): void {
  const { palette, scale, tallies } = look;
  const status = tallies.status(box);
  const colors = palette.state[status]!;
  const bad = tallies.health(box) >= Health.exploding;
  if (box.h * scale < 7) {
    painter.rect(box.x, box.y, box.w, box.h, 0, { fill: bad ? palette.bad : colors.line });
    return;
  }
  if (box.node >= 0) drawNode(painter, box, look, status);
  else drawClosedGroup(painter, box, look, status);
}

function drawNode(painter: Painter, box: Box, look: Look, status: number): void {
  const { palette, scale, app, health } = look;
  const { recording } = app;
  const node = box.node;
  const colors = palette.state[status]!;
  const kind = recording.nodes.kind[node]!;
  const leaf = kind === NodeKind.accumulate;
  const radius = leaf ? box.h / 2 : 6;
  painter.rect(box.x, box.y, box.w, box.h, radius, {
    fill: colors.fill,
    stroke: look.hover === box ? palette.ink : colors.line,
    width: status === Status.running ? 2 : 1,
    dash: kind === NodeKind.structural ? [4, 3] : [],
  });
  if (kind === NodeKind.custom || kind === NodeKind.extension)
    painter.rect(box.x + 3, box.y + 3, box.w - 6, box.h - 6, 4, { stroke: colors.line, width: 0.8 });
  const left = box.x + (leaf ? 14 : 12);
  stateGlyph(painter, left + 2, box.y + box.h / 2, status, node, look);
  const mark = health[node]!;
  if (mark >= Health.vanishing) healthMark(painter, box, mark, palette);
  if (scale < 0.42) return;
  const room = box.w - (left - box.x) - 22;
  const [title, below] = nodeLines(recording, node);
  const [name, suffix] = format.nameParts(title);
  const shown = shorten(name, room, 12);
  painter.text(shown, left + 14, box.y + 16, { size: 12, weight: 550, color: colors.text });
  const used = textWidth(shown);
  if (suffix && used + textWidth(suffix) * 0.9 <= room)
    painter.text(suffix, left + 14.5 + used * 1.015, box.y + 16, { size: 11, color: status === Status.running ? colors.text : palette.faint });
  painter.text(shorten(below, room, 10.5), left + 14, box.y + 30, { size: 10.5, color: status === Status.running ? colors.text : palette.muted });
}

function stateGlyph(painter: Painter, x: number, y: number, status: number, node: number, look: Look): void {
  const { palette, app } = look;
  const color = palette.state[status]!.line;
  switch (status) {
    case Status.waiting: {
      // The ring fills as gradients arrive.
      painter.circle(x, y, 4.5, { stroke: color, width: 1.4 });
      const left = Math.max(0, app.replay.dependencies[node]!),
        have = app.replay.arrived[node]!;
      painter.circle(x, y, have + left > 0 ? (4.5 * have) / (have + left) : 2, { fill: color });
      break;
    }
    case Status.ready:
      painter.circle(x, y, 4.5, { fill: color });
      break;
    case Status.running:
      painter.polyline([x - 3, y - 5, x + 5, y, x - 3, y + 5], { fill: palette.state[status]!.text }, true);
      break;
    case Status.done:
      painter.polyline([x - 4, y, x - 1, y + 3.5, x + 4.5, y - 4], { stroke: color, width: 1.7 });
      break;
    case Status.failed:
      painter.polyline([x - 4, y - 4, x + 4, y + 4], { stroke: color, width: 2 });
      painter.polyline([x + 4, y - 4, x - 4, y + 4], { stroke: color, width: 2 });
      break;
    default:
      painter.circle(x, y, 3.5, { stroke: color, width: 1.2 });
  }
}

function healthMark(painter: Painter, box: Box, health: number, palette: Palette): void {
  const word = health === Health.exploding ? "large" : health === Health.vanishing ? "small" : HEALTH_NAMES[health]!;
  const color = health >= Health.exploding ? palette.bad : palette.warn;
  const w = textWidth(word) * 0.85 + 12;
  painter.rect(box.x + box.w - w + 6, box.y - 7, w, 15, 7.5, { fill: color });
  painter.text(word, box.x + box.w - w / 2 + 6, box.y + 4, { size: 10, weight: 650, color: palette.panel, align: "center" });
}

function drawClosedGroup(painter: Painter, box: Box, look: Look, status: number): void {
  const { palette, scale, app, tallies } = look;
  const group = app.grouping.groups[box.group]!;
  const line = status === Status.idle || status === Status.done ? palette.state[Status.idle]!.line : palette.state[status]!.line;
  painter.rect(box.x + 3, box.y + 3, box.w, box.h, 8, { fill: palette.groupDeep, stroke: palette.line, width: 1 });
  painter.rect(box.x, box.y, box.w, box.h, 8, {
    fill: palette.panel,
    stroke: look.hover === box ? palette.ink : line,
    width: status === Status.running ? 2 : 1.2,
  });
  const track = { x: box.x + 12, y: box.y + box.h - 11, w: box.w - 24, h: 4 };
  painter.rect(track.x, track.y, track.w, track.h, 2, { fill: palette.line });
  let x = track.x;
  for (const s of [Status.done, Status.failed, Status.running, Status.ready, Status.waiting]) {
    const w = (track.w * tallies.of(box, s)) / Math.max(1, group.count);
    if (w > 0) painter.rect(x, track.y, Math.max(w, 1.5), track.h, w > 4 ? 2 : 0, { fill: palette.state[s]!.line });
    x += w;
  }
  if (tallies.health(box) >= Health.exploding) healthMark(painter, box, tallies.health(box), palette);
  if (scale < 0.35) {
    if (box.w * scale > 34) painter.text(shorten(group.label, box.w - 16, 22), box.x + 8, box.y + 30, { size: 22, weight: 600, color: palette.ink });
    return;
  }
  chevron(painter, box.x + 15, box.y + 15, false, palette.muted);
  const label = shorten(group.label, box.w - 40, 12);
  painter.text(label, box.x + 26, box.y + 19, { size: 12, weight: 600, color: palette.ink });
  const used = textWidth(label) * 1.04 + 34;
  if (group.detail && used < box.w - 30)
    painter.text(shorten(group.detail, box.w - used - 10, 11), box.x + used, box.y + 19, { size: 11, color: palette.muted });
  painter.text(format.plural(group.count, "node"), box.x + 26, box.y + 35, { size: 10.5, color: palette.muted });
  painter.text(`${format.count(tallies.of(box, Status.done))} done`, box.x + box.w - 12, box.y + 35, {
    size: 10.5,
    color: palette.muted,
    align: "right",
  });
}

function drawSelection(painter: Painter, look: Look): void {
  const { app, palette, scale, selected: box } = look;
  if (!box) return;
  const leaf = box.node >= 0 && app.recording.nodes.kind[box.node] === NodeKind.accumulate;
  const gap = Math.max(3, 2 / scale);
  const stack = box.group > 0 && !box.open ? 3 : 0; // a closed group has a second sheet behind it
  painter.rect(box.x - gap, box.y - gap, box.w + 2 * gap + stack, box.h + 2 * gap + stack, leaf ? box.h / 2 + gap : 9, {
    stroke: palette.ink,
    width: Math.max(2, 2 / scale),
  });
  if (!box.open) drawBox(painter, box, look); // with its badge over the outline
}
