// memory_math.ts: what holds memory at a moment: tensors saved by the graph, by source line and by module, and gradients in buffers. No drawing.
import { Kind, type Recording } from "./recording.ts";
import { Status, type Replay } from "./replay.ts";

export interface Holder {
  label: string;
  bytes: number;
  nodes: number;
  node: number;
} // node: the largest of them
export interface Held {
  saved: number;
  buffers: number;
  lines: Holder[];
  modules: Holder[];
}

const firstPasses = new WeakMap<Recording, Int32Array>();

/** The top pass that touches each node first; −1: before any pass, or never. */
function firstPass(recording: Recording): Int32Array {
  let first = firstPasses.get(recording);
  if (!first) {
    first = new Int32Array(recording.nodes.rows).fill(-1);
    const { node, pass, length } = recording.events;
    for (let i = length - 1; i >= 0; i--) if (node[i]! >= 0) first[node[i]!] = recording.topPass(pass[i]!);
    firstPasses.set(recording, first);
  }
  return first;
}

/** Which nodes exist at the replay's position: those whose forward was recorded by then; without forward events, those that no later pass begins. */
function exists(recording: Recording, replay: Replay): (node: number) => boolean {
  if (replay.at === 0) return () => !recording.meta.forward;
  const { time, pass } = recording.events;
  if (recording.meta.forward) {
    const now = time[replay.at - 1]!;
    return (node) => !(recording.nodes.forwardTime[node]! > now);
  }
  let now = -1;
  for (let i = replay.at - 1; i >= 0 && now < 0; i--) now = recording.topPass(pass[i]!);
  const first = firstPass(recording);
  return (node) => first[node]! <= now;
}

export function holders(recording: Recording, replay: Replay): Held {
  const lines = new Map<string, Holder>(),
    modules = new Map<string, Holder>();
  const counted = new Set<number>();
  const alive = exists(recording, replay);
  let saved = 0,
    buffers = 0;
  const largest = new Map<Holder, number>();
  const add = (map: Map<string, Holder>, label: string, bytes: number, node: number): void => {
    let holder = map.get(label);
    if (!holder) map.set(label, (holder = { label, bytes: 0, nodes: 0, node }));
    holder.bytes += bytes;
    holder.nodes++;
    if (bytes > (largest.get(holder) ?? -1)) {
      largest.set(holder, bytes);
      holder.node = node;
    }
  };
  const { nodes } = recording;
  for (let n = 0; n < nodes.rows; n++) {
    const inBuffer = replay.status[n] === Status.waiting || replay.status[n] === Status.ready;
    if (inBuffer) {
      const outputs = recording.outputs(n);
      for (const slot of replay.buffer(n).keys()) if (outputs[slot]) buffers += recording.gradientBytes(outputs[slot]!);
    }
    if (replay.released[n] || nodes.saved[n]!.length === 0 || !alive(n)) continue;
    let bytes = 0;
    for (const s of recording.saved(n)) {
      if (s.storage >= 0 && counted.has(s.storage)) continue; // two nodes keep the same memory: it is counted where it was saved first
      if (s.storage >= 0) counted.add(s.storage);
      bytes += s.bytes;
    }
    if (bytes === 0) continue;
    saved += bytes;
    add(lines, recording.place(n) || "unknown line", bytes, n);
    add(modules, recording.modulePath(nodes.module[n]!) || "outside modules", bytes, n);
  }
  const sorted = (map: Map<string, Holder>): Holder[] => [...map.values()].sort((a, b) => b.bytes - a.bytes);
  return { saved, buffers, lines: sorted(lines), modules: sorted(modules) };
}

/** Bytes over time: the recorded total where there is one, else what the saved tensors add up to. At most `points` of them, peaks kept. */
export function memoryCurve(recording: Recording, points = 4000): { time: number[]; bytes: number[]; recorded: boolean; peak: number } {
  const { time, memory, kind, node, length } = recording.events;
  let recorded = false;
  for (let i = 0; i < length && !recorded; i++) recorded = !Number.isNaN(memory[i]!);
  const bytes = new Float64Array(length);
  let now = 0;
  if (!recorded) {
    const all = new Float64Array(recording.nodes.rows);
    for (let n = 0; n < all.length; n++) for (const s of recording.saved(n)) all[n]! += s.bytes;
    if (!recording.meta.forward) now = all.reduce((a, b) => a + b, 0);
    for (let i = 0; i < length; i++) {
      if (kind[i] === Kind.released) now -= all[node[i]!]!;
      else if (kind[i] === Kind.forward) now += all[node[i]!]!;
      bytes[i] = now;
    }
  } else {
    for (let i = 0; i < length; i++) bytes[i] = now = Number.isNaN(memory[i]!) ? now : memory[i]!;
  }
  const start = length > 0 ? time[0]! : 0;
  let peak = -1;
  for (let i = 0; i < length; i++) if (peak < 0 || bytes[i]! > bytes[peak]!) peak = i;
  const outTime: number[] = [],
    outBytes: number[] = [];
  const step = Math.max(1, Math.ceil((2 * length) / points));
  for (let i = 0; i < length; i += step) {
    let low = i,
      high = i;
    for (let k = i; k < Math.min(i + step, length); k++) {
      if (bytes[k]! < bytes[low]!) low = k;
      if (bytes[k]! > bytes[high]!) high = k;
    }
    for (const k of low === high ? [low] : [Math.min(low, high), Math.max(low, high)]) {
      outTime.push(time[k]! - start);
      outBytes.push(bytes[k]!);
    }
  }
  return { time: outTime, bytes: outBytes, recorded, peak };
}
