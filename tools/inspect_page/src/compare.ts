// compare.ts: where two recordings differ: the first node that differs in structure, order or value. Nodes are matched by the order they ran in.
import { Kind, type Recording } from "./recording.ts";
import { durations } from "./tallies.ts";

export const TOLERANCE = 1e-5;

export interface Difference {
  at: number;
  a: number;
  b: number;
  what: string;
} // at: position in the order of execution; a, b: nodes, −1 where a run has ended
export interface Pair {
  a: number;
  b: number;
  eventA: number;
  eventB: number;
}
export interface Comparison {
  pairs: Pair[]; // nodes that ran at the same place in both, up to the first difference in structure or order
  runsA: number;
  runsB: number;
  parted: (Difference & { kind: "structure" | "order" }) | null;
  value: (Difference & { rowA: number; rowB: number }) | null;
  compared: number; // gradients that both recordings have values of
  changes: { pair: Pair; timeA: number; timeB: number }[]; // largest change of time first
}

function runs(recording: Recording): number[] {
  const out: number[] = [];
  const { kind, length } = recording.events;
  for (let i = 0; i < length; i++) if (kind[i] === Kind.started) out.push(i);
  return out;
}

function shapes(recording: Recording, node: number): string {
  return recording
    .outputs(node)
    .map((s) => `${s.dtype}[${s.shape.join(",")}]`)
    .join(" ");
}

/** "" if the two nodes look alike, else what differs. */
function differs(a: Recording, b: Recording, na: number, nb: number): string {
  if (a.nodeName(na) !== b.nodeName(nb)) return `${a.nodeName(na)} against ${b.nodeName(nb)}`;
  const [leafA, leafB] = [a.text(a.nodes.leaf[na]!), b.text(b.nodes.leaf[nb]!)];
  if (leafA !== leafB && leafA && leafB) return `leaf ${leafA} against ${leafB}`;
  if (shapes(a, na) !== shapes(b, nb)) return `${shapes(a, na) || "no shape"} against ${shapes(b, nb) || "no shape"}`;
  if (a.out.of(na).length !== b.out.of(nb).length) return `${a.out.of(na).length} edges against ${b.out.of(nb).length}`;
  return "";
}

function close(x: number, y: number): boolean {
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) === Number.isNaN(y);
  if (x === y) return true;
  return Math.abs(x - y) <= TOLERANCE * Math.max(Math.abs(x), Math.abs(y), 1e-12);
}

function sameNames(a: Recording, b: Recording, runsA: number[], runsB: number[]): boolean {
  if (runsA.length !== runsB.length) return false;
  const count = new Map<string, number>();
  const name = (r: Recording, event: number): string =>
    `${r.nodeName(r.events.node[event]!)} ${shapes(r, r.events.node[event]!)} ${r.text(r.nodes.leaf[r.events.node[event]!]!)}`;
  for (const e of runsA) count.set(name(a, e), (count.get(name(a, e)) ?? 0) + 1);
  for (const e of runsB) {
    const left = (count.get(name(b, e)) ?? 0) - 1;
    if (left < 0) return false;
    count.set(name(b, e), left);
  }
  return true;
}

export function compare(a: Recording, b: Recording): Comparison {
  const runsA = runs(a),
    runsB = runs(b);
  const pairs: Pair[] = [];
  let parted: Comparison["parted"] = null;
  for (let i = 0; i < Math.max(runsA.length, runsB.length); i++) {
    const na = i < runsA.length ? a.events.node[runsA[i]!]! : -1,
      nb = i < runsB.length ? b.events.node[runsB[i]!]! : -1;
    const what = na < 0 ? "the first recording ends here" : nb < 0 ? "the second recording ends here" : differs(a, b, na, nb);
    if (what) {
      parted = { at: i, a: na, b: nb, what, kind: sameNames(a, b, runsA, runsB) ? "order" : "structure" };
      break;
    }
    pairs.push({ a: na, b: nb, eventA: runsA[i]!, eventB: runsB[i]! });
  }
  let value: Comparison["value"] = null;
  let compared = 0;
  const taken = new Map<number, number>(); // values of a node already compared, for nodes that ran several times
  for (let i = 0; i < pairs.length && value === null; i++) {
    const { a: na, b: nb } = pairs[i]!;
    const rowsA = a.valuesOf(na),
      rowsB = b.valuesOf(nb);
    const k = taken.get(na) ?? 0;
    taken.set(na, k + 1);
    const rowA = rowsA[k],
      rowB = rowsB[k];
    if (rowA === undefined || rowB === undefined) continue;
    compared++;
    for (const key of ["nan", "inf", "norm", "mean", "min", "max"] as const) {
      const x = a.values[key][rowA]!,
        y = b.values[key][rowB]!;
      if (!close(x, y) && !(key === "mean" && Math.abs(x - y) < TOLERANCE * Math.abs(a.values.max[rowA]!))) {
        value = { at: i, a: na, b: nb, rowA, rowB, what: key };
        break;
      }
    }
  }
  const timesA = durations(a).total,
    timesB = durations(b).total;
  const seen = new Set<number>();
  const changes = pairs.filter((p) => !seen.has(p.a) && seen.add(p.a)).map((pair) => ({ pair, timeA: timesA[pair.a]!, timeB: timesB[pair.b]! }));
  changes.sort((p, q) => Math.abs(q.timeB - q.timeA) - Math.abs(p.timeB - p.timeA));
  return { pairs, runsA: runsA.length, runsB: runsB.length, parted, value, compared, changes: changes.slice(0, 100) };
}
