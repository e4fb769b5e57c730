// layers.ts: a layered drawing of one small graph (Sugiyama's method): cycles are broken, items get layers, layers get an order with few
// crossings, and items get coordinates near their neighbors'. Every step is linear or nearly so. Knows boxes and edges, nothing of recordings.

export interface Item {
  w: number;
  h: number;
  end?: "top" | "bottom";
} // end: a port, kept in the first or the last layer
export interface Link {
  from: number;
  to: number;
  fromX: number;
  toX: number;
} // fromX, toX: where the edge leaves or enters, from the item's left side
export interface Drawing {
  x: Float64Array;
  y: Float64Array; // of the items' upper left corners
  w: number;
  h: number;
  routes: Float64Array[]; // one per link: x, y, x, y, ... from its source's lower side to its target's upper side
}

const GAP_X = 18;
const GAP_DUMMY = 10;
const GAP_Y = 30;
const PORT_GAP_Y = 12;
const SWEEPS = 6;
const WIDE = 280;
const TALL = 6000,
  SLIM = 8; // a drawing taller than this, and this many times its width, is set in columns
const COLUMN_GAP = 60,
  HEAD = 26; // between columns, and above and below them, where lines turn

/** Marks the links to turn around so that no circle is left, by depth-first search. */
function backLinks(count: number, out: number[][], links: Link[]): Uint8Array {
  const back = new Uint8Array(links.length);
  const state = new Uint8Array(count); // 0 new, 1 on the path, 2 finished
  const next = new Int32Array(count);
  for (let root = 0; root < count; root++) {
    if (state[root]) continue;
    const path = [root];
    state[root] = 1;
    while (path.length > 0) {
      const item = path[path.length - 1]!;
      const mine = out[item]!;
      if (next[item]! >= mine.length) {
        state[item] = 2;
        path.pop();
        continue;
      }
      const link = mine[next[item]!++]!;
      const to = links[link]!.to;
      if (state[to] === 1) back[link] = 1;
      else if (state[to] === 0) {
        state[to] = 1;
        path.push(to);
      }
    }
  }
  return back;
}

function assignLayers(items: Item[], pairs: [number, number][]): Int32Array {
  const layer = new Int32Array(items.length);
  const remaining = new Int32Array(items.length);
  const out: number[][] = items.map(() => []);
  for (const [a, b] of pairs) {
    out[a]!.push(b);
    remaining[b]!++;
  }
  const order: number[] = [];
  for (let i = 0; i < items.length; i++) if (remaining[i] === 0) order.push(i);
  for (let k = 0; k < order.length; k++) {
    const a = order[k]!;
    for (const b of out[a]!) {
      layer[b] = Math.max(layer[b]!, layer[a]! + 1);
      if (--remaining[b]! === 0) order.push(b);
    }
  }
  // Items without a producer move down to just above the first item that uses them.
  const hasProducer = new Uint8Array(items.length);
  for (const [, b] of pairs) hasProducer[b] = 1;
  for (let k = order.length - 1; k >= 0; k--) {
    const a = order[k]!;
    if (!hasProducer[a] && out[a]!.length > 0) layer[a] = Math.min(...out[a]!.map((b) => layer[b]!)) - 1;
  }
  let hasTop = false,
    last = 0;
  items.forEach((item, i) => {
    if (item.end === "top") hasTop = true;
    else if (item.end !== "bottom") last = Math.max(last, layer[i]!);
  });
  if (hasTop) {
    let first = Infinity;
    items.forEach((item, i) => {
      if (item.end === undefined) first = Math.min(first, layer[i]!);
    });
    const shift = first === Infinity ? 0 : 1 - first;
    items.forEach((item, i) => {
      layer[i] = item.end === "top" ? 0 : layer[i]! + shift;
    });
    last += shift;
  }
  items.forEach((item, i) => {
    if (item.end === "bottom") layer[i] = last + 1;
  });
  return layer;
}

/** The positions nearest to `wanted` (weighted least squares) that keep the order and the distances `apart` (pool adjacent violators). */
export function keepApart(wanted: Float64Array, weight: Float64Array, apart: Float64Array): Float64Array {
  const n = wanted.length;
  const out = new Float64Array(n);
  const value = new Float64Array(n),
    mass = new Float64Array(n),
    size = new Int32Array(n);
  let blocks = 0,
    offset = 0;
  for (let i = 0; i < n; i++) {
    if (i > 0) offset += apart[i - 1]!;
    value[blocks] = wanted[i]! - offset;
    mass[blocks] = weight[i]!;
    size[blocks++] = 1;
    while (blocks > 1 && value[blocks - 2]! > value[blocks - 1]!) {
      const total = mass[blocks - 2]! + mass[blocks - 1]!;
      value[blocks - 2] = (value[blocks - 2]! * mass[blocks - 2]! + value[blocks - 1]! * mass[blocks - 1]!) / total;
      mass[blocks - 2] = total;
      size[blocks - 2]! += size[blocks - 1]!;
      blocks--;
    }
  }
  offset = 0;
  for (let b = 0, i = 0; b < blocks; b++) {
    for (let k = 0; k < size[b]!; k++, i++) {
      if (i > 0) offset += apart[i - 1]!;
      out[i] = value[b]! + offset;
    }
  }
  return out;
}

export function drawInLayers(items: Item[], links: Link[]): Drawing {
  const out: number[][] = items.map(() => []);
  links.forEach((link, i) => {
    if (link.from !== link.to) out[link.from]!.push(i);
  });
  const back = backLinks(items.length, out, links);
  const pairs: [number, number][] = [];
  links.forEach((l, i) => {
    if (l.from !== l.to) pairs.push(back[i] ? [l.to, l.from] : [l.from, l.to]);
  });
  return place(items, links, back, assignLayers(items, pairs));
}

// From here on points are items followed by dummies: a link over several layers gets a dummy in each layer between.
function place(items: Item[], links: Link[], back: Uint8Array, layer: Int32Array): Drawing {
  const width: number[] = items.map((item) => item.w);
  const at: number[] = Array.from(layer);
  const up: { point: number; mine: number; theirs: number }[][] = items.map(() => []);
  const down: { point: number; mine: number; theirs: number }[][] = items.map(() => []);
  const chains: number[][] = [];
  const join = (a: number, ax: number, b: number, bx: number): void => {
    down[a]!.push({ point: b, mine: ax, theirs: bx });
    up[b]!.push({ point: a, mine: bx, theirs: ax });
  };
  links.forEach((link, i) => {
    const chain: number[] = [];
    chains.push(chain);
    if (link.from === link.to) return;
    const turned = back[i] === 1;
    let [point, x] = turned ? [link.to, link.toX] : [link.from, link.fromX];
    const [end, endX] = turned ? [link.from, link.fromX] : [link.to, link.toX];
    for (let k = at[point]! + 1; k < at[end]!; k++) {
      const dummy = width.push(0) - 1;
      at.push(k);
      up.push([]);
      down.push([]);
      chain.push(dummy);
      join(point, x, dummy, 0);
      [point, x] = [dummy, 0];
    }
    join(point, x, end, endX);
    if (turned) chain.reverse();
  });

  const layers: number[][] = [];
  for (let p = 0; p < at.length; p++) (layers[at[p]!] ??= []).push(p);
  for (let k = 0; k < layers.length; k++) layers[k] ??= [];
  reduceCrossings(layers, up, down, width);
  const x = coordinates(layers, up, down, width, items.length);

  let left = Infinity,
    right = -Infinity;
  for (let p = 0; p < x.length; p++) {
    left = Math.min(left, x[p]!);
    right = Math.max(right, x[p]! + width[p]!);
  }
  if (items.length === 0) left = right = 0;
  for (let p = 0; p < x.length; p++) x[p]! -= left;

  const top = new Float64Array(layers.length),
    height = new Float64Array(layers.length);
  let y = 0;
  layers.forEach((points, k) => {
    for (const p of points) if (p < items.length) height[k] = Math.max(height[k]!, items[p]!.h);
    top[k] = y;
    const ports = height[k] === 0 || (k + 1 < layers.length && layers[k + 1]!.every((p) => p >= items.length || items[p]!.end !== undefined));
    y += height[k]! + (k + 1 < layers.length ? (ports ? PORT_GAP_Y : GAP_Y) : 0);
  });
  const ys = new Float64Array(items.length);
  for (let i = 0; i < items.length; i++) ys[i] = top[at[i]!]! + (items[i]!.end ? 0 : (height[at[i]!]! - items[i]!.h) / 2);

  let drawn = { w: right - left, h: y };
  const columns = columnsOf(layers, top, height, x, width, drawn);
  if (columns) {
    for (let p = 0; p < x.length; p++) x[p]! += columns.shiftX[at[p]!]!;
    for (let i = 0; i < items.length; i++) ys[i]! -= columns.shiftY[at[i]!]!;
    for (let k = 0; k < layers.length; k++) top[k]! -= columns.shiftY[k]!;
    drawn = columns;
  }

  const routes = links.map((link, i) => {
    if (link.from === link.to) return new Float64Array(0);
    const turned = back[i] === 1;
    const points = [x[link.from]! + link.fromX, ys[link.from]! + items[link.from]!.h / (turned ? 2 : 1)];
    let before = at[link.from]!;
    const go = (layer: number, px: number, ...rest: number[]): void => {
      if (columns && !turned && columns.column[layer] !== columns.column[before])
        points.push(...columns.turn(before, points[points.length - 2]!, px, i));
      points.push(px, ...rest);
      before = layer;
    };
    for (const dummy of chains[i]!) {
      const upper = top[at[dummy]!]!,
        lower = upper + height[at[dummy]!]!;
      go(at[dummy]!, x[dummy]!, turned ? lower : upper, x[dummy]!, turned ? upper : lower);
    }
    go(at[link.to]!, x[link.to]! + link.toX, turned ? ys[link.to]! + items[link.to]!.h : ys[link.to]!);
    return Float64Array.from(points);
  });
  return { x: x.subarray(0, items.length), y: ys, ...drawn, routes };
}

interface Columns {
  w: number;
  h: number;
  column: Int32Array;
  shiftX: Float64Array;
  shiftY: Float64Array; // of each layer
  turn(layer: number, fromX: number, toX: number, link: number): number[]; // the way from the foot of one column to the head of the next
}

/** A drawing many times as tall as wide is set in columns, like text, so that all of it can be seen at once. */
function columnsOf(
  layers: number[][],
  top: Float64Array,
  height: Float64Array,
  x: Float64Array,
  width: number[],
  whole: { w: number; h: number },
): Columns | null {
  if (whole.h < TALL || whole.h < SLIM * whole.w) return null;
  const wanted = whole.h / Math.max(2, Math.round(Math.sqrt((1.6 * whole.h) / (whole.w + COLUMN_GAP))));
  const column = new Int32Array(layers.length),
    shiftX = new Float64Array(layers.length),
    shiftY = new Float64Array(layers.length);
  const rights: number[] = [];
  let tallest = 0,
    used = 0;
  for (let first = 0; first < layers.length;) {
    let next = first + 1;
    while (next < layers.length && top[next]! + height[next]! - top[first]! <= wanted) next++;
    let left = Infinity,
      right = -Infinity;
    for (let k = first; k < next; k++)
      for (const p of layers[k]!) {
        left = Math.min(left, x[p]!);
        right = Math.max(right, x[p]! + width[p]!);
      }
    for (let k = first; k < next; k++) {
      column[k] = rights.length;
      shiftX[k] = used - left;
      shiftY[k] = top[first]! - HEAD;
    }
    tallest = Math.max(tallest, top[next - 1]! + height[next - 1]! - top[first]!);
    used += right - left;
    rights.push(used);
    used += COLUMN_GAP;
    first = next;
  }
  const foot = tallest + HEAD;
  return {
    w: used - COLUMN_GAP,
    h: foot + HEAD,
    column,
    shiftX,
    shiftY,
    turn: (layer, fromX, toX, link) => {
      const lane = 2 + 4 * (link % 6),
        gutter = rights[column[layer]!]! + COLUMN_GAP / 2 - 12 + lane;
      return [fromX, foot + lane, gutter, foot + lane, gutter, lane, toX, lane];
    },
  };
}

type Neighbors = { point: number; mine: number; theirs: number }[][];

function reduceCrossings(layers: number[][], up: Neighbors, down: Neighbors, width: number[]): void {
  const rank = new Float64Array(width.length);
  const value = new Float64Array(width.length);
  const number = (points: number[]): void =>
    points.forEach((p, i) => {
      rank[p] = i;
    });
  layers.forEach(number);
  const sortBy = (points: number[], neighbors: Neighbors): void => {
    for (const p of points) {
      const mine = neighbors[p]!;
      let sum = 0;
      // The place within a wide neighbor counts too, so that lines to one box keep the order of its ports.
      for (const n of mine) sum += rank[n.point]! + (width[n.point]! > 0 ? n.theirs / width[n.point]! - 0.5 : 0);
      value[p] = mine.length > 0 ? sum / mine.length : rank[p]!;
    }
    points.sort((a, b) => value[a]! - value[b]! || rank[a]! - rank[b]!);
    number(points);
  };
  let best = layers.map((points) => points.slice());
  let fewest = crossings(layers, down, rank);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    if (sweep % 2 === 0) for (let k = 1; k < layers.length; k++) sortBy(layers[k]!, up);
    else for (let k = layers.length - 2; k >= 0; k--) sortBy(layers[k]!, down);
    const now = crossings(layers, down, rank);
    if (now < fewest) {
      fewest = now;
      best = layers.map((points) => points.slice());
    }
  }
  best.forEach((points, k) => {
    layers[k] = points;
  });
}

/** Counts crossings between neighboring layers with a Fenwick tree. */
function crossings(layers: number[][], down: Neighbors, rank: Float64Array): number {
  let total = 0;
  for (let k = 0; k + 1 < layers.length; k++) {
    const size = layers[k + 1]!.length;
    const tree = new Int32Array(size + 1);
    let added = 0;
    for (const p of layers[k]!) {
      const ends = down[p]!.slice()
        .sort((a, b) => a.mine - b.mine)
        .map((n) => rank[n.point]!);
      for (const end of ends) {
        let below = 0;
        for (let i = end + 1; i > 0; i -= i & -i) below += tree[i]!;
        total += added - below;
      }
      for (const end of ends) {
        added++;
        for (let i = end + 1; i <= size; i += i & -i) tree[i]!++;
      }
    }
  }
  return total;
}

function coordinates(layers: number[][], up: Neighbors, down: Neighbors, width: number[], items: number): Float64Array {
  const x = new Float64Array(width.length);
  const apart = layers.map((points) =>
    Float64Array.from(points.slice(1), (p, i) => width[points[i]!]! + (p < items && points[i]! < items ? GAP_X : GAP_DUMMY)),
  );
  layers.forEach((points, k) => {
    let left = 0;
    points.forEach((p, i) => {
      x[p] = left;
      left += apart[k]![i] ?? width[p]!;
    });
    points.forEach((p) => {
      x[p]! -= left / 2;
    });
  });
  // A wide box is an open module: its middle counts. Aligning the ports of modules that enter left and leave right would build a staircase.
  const anchor = (p: number, port: number): number => (width[p]! > WIDE ? width[p]! / 2 : port);
  // How strongly a link wants to be vertical: long links and chains of boxes most, one of many links of a box least.
  const pull = (upper: number, lower: number): number => {
    if (upper >= items && lower >= items) return 8;
    return (upper < items && lower < items ? 128 : 2) / (down[upper]!.length * up[lower]!.length);
  };
  const settle = (k: number, sides: Neighbors[]): void => {
    const points = layers[k]!;
    const wanted = new Float64Array(points.length),
      weight = new Float64Array(points.length);
    points.forEach((p, i) => {
      let sum = 0,
        count = 0;
      for (const side of sides)
        for (const n of side[p]!) {
          const w = side === up ? pull(n.point, p) : pull(p, n.point);
          sum += w * (x[n.point]! + anchor(n.point, n.theirs) - anchor(p, n.mine));
          count += w;
        }
      wanted[i] = count > 0 ? sum / count : x[p]!;
      weight[i] = Math.max(count, 0.1);
    });
    keepApart(wanted, weight, apart[k]!).forEach((value, i) => {
      x[points[i]!] = value;
    });
  };
  for (let sweep = 0; sweep < 4; sweep++) {
    for (let k = 1; k < layers.length; k++) settle(k, [up]);
    for (let k = layers.length - 2; k >= 0; k--) settle(k, [down]);
  }
  for (let k = 0; k < layers.length; k++) settle(k, [up, down]);
  return x;
}
