// tallies.ts: sums over a recording that several panels need: how long each node ran, what it saved. Computed once per recording and length.
import { Kind, type Recording } from "./recording.ts";

export interface Slice {
  start: number;
  end: number;
  node: number;
  thread: number;
  depth: number;
  event: number;
}
interface Durations {
  total: Float64Array;
  runs: Int32Array;
  slices: Slice[];
  length: number;
}

const known = new WeakMap<Recording, Durations>();

/** Time between `started` and `finished` of each node, without the time of nodes that ran nested inside it, and the slices for the timeline. */
export function durations(recording: Recording): Durations {
  const old = known.get(recording);
  const { kind, node: nodes, thread: threads, time, length } = recording.events;
  if (old && old.length === length) return old;
  const total = new Float64Array(recording.nodes.rows),
    runs = new Int32Array(recording.nodes.rows);
  const slices: Slice[] = [];
  const stacks = new Map<number, { slice: Slice; nested: number }[]>();
  for (let i = 0; i < length; i++) {
    const node = nodes[i]!;
    if (node < 0 || (kind[i] !== Kind.started && kind[i] !== Kind.finished && kind[i] !== Kind.failed)) continue;
    const thread = threads[i]!;
    let stack = stacks.get(thread);
    if (!stack) stacks.set(thread, (stack = []));
    if (kind[i] === Kind.started) {
      const slice = { start: time[i]!, end: time[i]!, node, thread, depth: stack.length, event: i };
      slices.push(slice);
      stack.push({ slice, nested: 0 });
      continue;
    }
    const at = stack.findLastIndex((entry) => entry.slice.node === node);
    if (at < 0) continue;
    const { slice, nested } = stack[at]!;
    stack.length = at;
    slice.end = time[i]!;
    const whole = slice.end - slice.start;
    total[node]! += whole - nested;
    runs[node]!++;
    if (at > 0) stack[at - 1]!.nested += whole;
  }
  const result = { total, runs, slices, length };
  known.set(recording, result);
  return result;
}

const savedBytes = new WeakMap<Recording, Float64Array>();

/** Bytes that each node saved for its backward. */
export function bytesSaved(recording: Recording): Float64Array {
  let out = savedBytes.get(recording);
  if (!out) {
    out = new Float64Array(recording.nodes.rows);
    for (let n = 0; n < out.length; n++) if (recording.nodes.saved[n]!.length > 0) for (const s of recording.saved(n)) out[n]! += s.bytes;
    savedBytes.set(recording, out);
  }
  return out;
}
