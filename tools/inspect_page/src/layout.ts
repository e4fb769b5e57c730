// layout.ts: boxes and lines of one pass, for a given set of open groups. Each open group is a layered drawing of its own (layers.ts); lines
// that leave or enter it cross its border at ports, which the drawing around it uses. Draws nothing.
import type { Grouping } from "./groups.ts";
import { drawInLayers, type Item, type Link } from "./layers.ts";
import { dtype, shape } from "./format.ts";
import { NodeKind, type Recording } from "./recording.ts";

const NODE_H = 38;
const GROUP_H = 54;
const HEADER_H = 26;
const PADDING = 14;
const MOST_PORTS = 40; // a group with more lines across its border gets one port for all
const BUNDLE = -2; // the key of such a port

export interface Box {
  id: number;
  node: number; // row of nodes, −1 for a group
  group: number; // row of groups, −1 for a node
  open: boolean;
  parent: Box | null;
  x: number;
  y: number;
  w: number;
  h: number; // absolute once the scene is complete
  children: Box[];
  lines: Line[]; // lines drawn inside an open group
}

/** A piece of an edge inside one open group. `from` and `to` are the boxes at the two ends of the whole edge; null: several, it is a bundle. */
export interface Line {
  from: Box | null;
  to: Box | null;
  points: Float64Array;
  weight: number;
}

export interface Scene {
  root: Box;
  boxOfNode: (Box | undefined)[]; // the smallest visible box around each node
  boxes: Box[]; // parents before their children
  parents: Int32Array; // the number of each box's parent
  boxNumbers: Int32Array; // of boxOfNode; −1: not shown
}

export type Measure = (text: string) => number;

interface Port {
  key: number;
  x: number;
}
interface Piece {
  link: Link;
  fromBorder: boolean;
  toBorder: boolean;
  from: Box | null;
  to: Box | null;
  weight: number;
}
interface Frame {
  box: Box;
  pieces: Map<string, { from: Box; to: Box; fromPort: number; toPort: number; weight: number }>;
  in: Set<number>;
  out: Set<number>;
}

export function layOut(recording: Recording, grouping: Grouping, open: ReadonlySet<string>, measure: Measure): Scene {
  const boxes: Box[] = [];
  const make = (parent: Box | null, node: number, group: number, isOpen: boolean): Box => {
    const box: Box = { id: boxes.length, node, group, open: isOpen, parent, x: 0, y: 0, w: 0, h: 0, children: [], lines: [] };
    boxes.push(box);
    parent?.children.push(box);
    return box;
  };
  const boxOfNode: (Box | undefined)[] = new Array(recording.nodes.rows);
  const { groups } = grouping;
  const root = make(null, -1, 0, true);
  const todo = [root];
  while (todo.length > 0) {
    const box = todo.pop()!;
    const group = groups[box.group]!;
    for (const inner of group.groups) {
      const isOpen = open.has(groups[inner]!.key);
      const child = make(box, -1, inner, isOpen);
      if (isOpen) todo.push(child);
      else cover(grouping, inner, child, boxOfNode);
    }
    for (const node of group.nodes) boxOfNode[node] = make(box, node, -1, false);
  }
  for (const box of boxes) if (!box.open) [box.w, box.h] = size(recording, grouping, box, measure);

  const frames = new Map<Box, Frame>();
  for (const box of boxes) if (box.open) frames.set(box, { box, pieces: new Map(), in: new Set(), out: new Set() });
  connect(recording, boxOfNode, boxes, frames);
  // Boxes come after their parents, so this goes from the innermost open groups outward.
  const ports = new Map<Box, { in: Map<number, number>; out: Map<number, number> }>();
  for (let i = boxes.length - 1; i >= 0; i--) if (boxes[i]!.open) drawGroup(frames.get(boxes[i]!)!, ports, boxes);
  for (const box of boxes) {
    if (box.parent) {
      box.x += box.parent.x;
      box.y += box.parent.y;
    }
    for (const line of box.lines)
      for (let k = 0; k < line.points.length; k += 2) {
        line.points[k]! += box.x;
        line.points[k + 1]! += box.y;
      }
  }
  return {
    root,
    boxOfNode,
    boxes,
    parents: Int32Array.from(boxes, (box) => box.parent?.id ?? -1),
    boxNumbers: Int32Array.from(boxOfNode, (box) => box?.id ?? -1),
  };
}

/** The two lines of text in a node's box. */
export function nodeLines(recording: Recording, node: number): [string, string] {
  const leaf = recording.text(recording.nodes.leaf[node]!);
  const first = recording.nodes.outputs[node]!.length > 0 ? recording.outputs(node)[0]! : null;
  const below = [
    first?.dtype ? `${shape(first.shape)} ${dtype(first.dtype)}` : "",
    recording.nodes.kind[node] === NodeKind.accumulate ? "" : recording.place(node),
  ];
  return [leaf || recording.nodeName(node), below.filter(Boolean).join("  ·  ")];
}

function cover(grouping: Grouping, group: number, box: Box, boxOfNode: (Box | undefined)[]): void {
  const todo = [group];
  while (todo.length > 0) {
    const g = grouping.groups[todo.pop()!]!;
    for (const node of g.nodes) boxOfNode[node] = box;
    todo.push(...g.groups);
  }
}

function size(recording: Recording, grouping: Grouping, box: Box, measure: Measure): [number, number] {
  if (box.node >= 0) {
    const [title, below] = nodeLines(recording, box.node);
    return [Math.min(240, Math.max(92, measure(title) + 44, measure(below) * 0.9 + 44)), NODE_H];
  }
  const group = grouping.groups[box.group]!;
  return [Math.min(260, Math.max(150, measure(group.label) + measure(group.detail) + 58)), GROUP_H];
}

/** Registers every edge between different visible boxes with the open groups it runs through. */
function connect(recording: Recording, boxOfNode: (Box | undefined)[], boxes: Box[], frames: Map<Box, Frame>): void {
  const depth = new Int32Array(boxes.length);
  for (const box of boxes) depth[box.id] = box.parent ? depth[box.parent.id]! + 1 : 0;
  const weights = new Map<number, number>(); // edges between two boxes, by from * count + to
  const { from, to, rows } = recording.edges;
  for (let e = 0; e < rows; e++) {
    const a = boxOfNode[from[e]!],
      b = boxOfNode[to[e]!];
    if (a === undefined || b === undefined || a === b) continue;
    const key = a.id * boxes.length + b.id;
    weights.set(key, (weights.get(key) ?? 0) + 1);
  }
  // Both ends of an edge climb to the children of their common group; each open group left on the way gets a port.
  const climb = (leave: (a: Box, source: Box, weight: number) => void, enter: (b: Box, target: Box, weight: number) => void, meet: Meet): void => {
    for (const [key, weight] of weights) {
      const source = boxes[Math.floor(key / boxes.length)]!,
        target = boxes[key % boxes.length]!;
      let a = source,
        b = target;
      while (a.parent !== b.parent) {
        const [up, down] = [depth[a.id]! >= depth[b.id]!, depth[b.id]! >= depth[a.id]!];
        if (up) {
          leave(a, source, weight);
          a = a.parent!;
        }
        if (down) {
          enter(b, target, weight);
          b = b.parent!;
        }
      }
      meet(a, b, source, target, weight);
    }
  };
  climb(
    (a, source) => frames.get(a.parent!)!.out.add(source.id),
    (b, target) => frames.get(b.parent!)!.in.add(target.id),
    () => {},
  );
  for (const frame of frames.values()) {
    if (frame.in.size > MOST_PORTS) frame.in = new Set([BUNDLE]);
    if (frame.out.size > MOST_PORTS) frame.out = new Set([BUNDLE]);
  }
  const outPort = (box: Box, source: Box): number => (frames.get(box)?.out.has(BUNDLE) ? BUNDLE : source.id);
  const inPort = (box: Box, target: Box): number => (frames.get(box)?.in.has(BUNDLE) ? BUNDLE : target.id);
  const add = (group: Box, a: Box, b: Box, fromPort: number, toPort: number, weight: number): void => {
    const { pieces } = frames.get(group)!;
    const key = `${a.id} ${b.id} ${fromPort} ${toPort}`;
    const piece = pieces.get(key);
    if (piece) piece.weight += weight;
    else pieces.set(key, { from: a, to: b, fromPort, toPort, weight });
  };
  climb(
    (a, source, weight) => add(a.parent!, a, a.parent!, outPort(a, source), outPort(a.parent!, source), weight),
    (b, target, weight) => add(b.parent!, b.parent!, b, inPort(b.parent!, target), inPort(b, target), weight),
    (a, b, source, target, weight) => add(a.parent!, a, b, outPort(a, source), inPort(b, target), weight),
  );
}

type Meet = (a: Box, b: Box, source: Box, target: Box, weight: number) => void;

function drawGroup(frame: Frame, ports: Map<Box, { in: Map<number, number>; out: Map<number, number> }>, boxes: Box[]): void {
  const { box } = frame;
  const items: Item[] = box.children.map((child) => ({ w: child.w, h: child.h }));
  const place = new Map<Box, number>(box.children.map((child, i) => [child, i]));
  const inPorts: Port[] = [],
    outPorts: Port[] = [];
  const portItem = new Map<string, number>();
  for (const key of frame.in) {
    portItem.set(`in ${key}`, items.push({ w: 4, h: 0, end: "top" }) - 1);
    inPorts.push({ key, x: 0 });
  }
  for (const key of frame.out) {
    portItem.set(`out ${key}`, items.push({ w: 4, h: 0, end: "bottom" }) - 1);
    outPorts.push({ key, x: 0 });
  }
  const pieces: Piece[] = [];
  for (const { from, to, fromPort, toPort, weight } of frame.pieces.values()) {
    const leaves = from === box ? undefined : ports.get(from)?.out.get(fromPort);
    const enters = to === box ? undefined : ports.get(to)?.in.get(toPort);
    pieces.push({
      link: {
        from: from === box ? portItem.get(`in ${fromPort}`)! : place.get(from)!,
        fromX: from === box ? 2 : (leaves ?? from.w / 2),
        to: to === box ? portItem.get(`out ${toPort}`)! : place.get(to)!,
        toX: to === box ? 2 : (enters ?? to.w / 2),
      },
      fromBorder: from === box,
      toBorder: to === box,
      from: from === box || fromPort === BUNDLE ? null : boxes[fromPort]!,
      to: to === box || toPort === BUNDLE ? null : boxes[toPort]!,
      weight,
    });
  }
  const drawing = drawInLayers(
    items,
    pieces.map((piece) => piece.link),
  );
  const isRoot = box.parent === null;
  const side = isRoot ? 0 : PADDING,
    above = isRoot ? 0 : HEADER_H + 8,
    below = isRoot ? 0 : PADDING;
  const portsAbove = inPorts.length > 0 && !isRoot,
    portsBelow = outPorts.length > 0 && !isRoot;
  box.children.forEach((child, i) => {
    child.x = drawing.x[i]! + side;
    child.y = drawing.y[i]! + above;
  });
  box.w = Math.max(drawing.w + 2 * side, isRoot ? 0 : 120);
  const spare = (box.w - drawing.w) / 2 - side;
  for (const child of box.children) child.x += spare;
  box.h = drawing.h + above + below;
  const inside = { in: new Map<number, number>(), out: new Map<number, number>() };
  for (const port of inPorts) inside.in.set(port.key, drawing.x[portItem.get(`in ${port.key}`)!]! + 2 + side + spare);
  for (const port of outPorts) inside.out.set(port.key, drawing.x[portItem.get(`out ${port.key}`)!]! + 2 + side + spare);
  ports.set(box, inside);
  box.lines = pieces.map((piece, i) => {
    let points = drawing.routes[i]!;
    for (let k = 0; k < points.length; k += 2) {
      points[k]! += side + spare;
      points[k + 1]! += above;
    }
    // Lines from and to the border start and end on it, not at the edge of the padding.
    if (portsAbove && piece.fromBorder) points = Float64Array.from([points[0]!, 0, ...points]);
    if (portsBelow && piece.toBorder) points = Float64Array.from([...points, points[points.length - 2]!, box.h]);
    return { from: piece.from, to: piece.to, points, weight: piece.weight };
  });
}
