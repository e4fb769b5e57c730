// recordings.ts: small recordings for the unit tests, made from a list of edges and run by a loop as simple as the engine's idea.
import { Kind, Recording } from "../src/recording.ts";

export interface Options {
  modules?: (string | undefined)[];
  calls?: [module: string, parent: number][]; // calls of modules, in order
  call?: (number | undefined)[]; // of each node
  norms?: Record<number, number | null>;
  names?: Record<number, string>;
}

/** Nodes 0..count − 1; edge [a, b]: a sends a gradient to b. Node 0 is the root. A node without outgoing edges is a leaf. */
export function recordingOf(count: number, edges: [number, number][], options: Options = {}): Record<string, unknown> {
  const strings: string[] = ["", "backward"];
  const string = (text: string): number => {
    const at = strings.indexOf(text);
    return at >= 0 ? at : strings.push(text) - 1;
  };
  const paths = [""];
  for (const path of [...(options.modules ?? []), ...(options.calls ?? []).map(([module]) => module)]) {
    const parts = (path ?? "").split(".").filter(Boolean);
    parts.forEach((_, i) => {
      const whole = parts.slice(0, i + 1).join(".");
      if (!paths.includes(whole)) paths.push(whole);
    });
  }
  const out: number[][] = Array.from({ length: count }, () => []);
  for (const [a, b] of edges) out[a]!.push(b);
  const leaf = (n: number): boolean => out[n]!.length === 0;
  const events: Record<string, (number | null)[]> = {
    kind: [],
    time: [],
    thread: [],
    pass: [],
    node: [],
    other: [],
    slot: [],
    dependencies: [],
    memory: [],
  };
  const values: Record<string, unknown[]> = {
    event: [],
    node: [],
    slot: [],
    norm: [],
    min: [],
    max: [],
    mean: [],
    zeros: [],
    nan: [],
    inf: [],
    size: [],
  };
  const add = (kind: number, node = -1, other = -1, slot = -1, dependencies = -1): number => {
    const row = [kind, 10 * events.kind!.length, 0, 0, node, other, slot, dependencies, null];
    Object.keys(events).forEach((key, i) => events[key]!.push(row[i]!));
    return events.kind!.length - 1;
  };
  const waiting = new Array<number>(count).fill(0);
  for (const [, b] of edges) waiting[b]!++;
  const queue = [0];
  add(Kind.passStarted);
  add(Kind.ready, 0, 1, -1, 0);
  while (queue.length > 0) {
    const node = queue.shift()!;
    const event = add(Kind.started, node);
    if (options.norms) {
      const norm = options.norms[node] === undefined ? 1 : options.norms[node]!;
      const row = [event, node, 0, norm, -1, 1, 0, norm === 0 ? 4 : 0, norm === null ? 4 : 0, 0, 4];
      Object.keys(values).forEach((key, i) => values[key]!.push(row[i]));
    }
    add(Kind.finished, node);
    for (const b of out[node]!) {
      add(Kind.arrived, b, node, 0, --waiting[b]!);
      if (waiting[b] === 0) {
        queue.push(b);
        add(Kind.ready, b, queue.length, -1, 0);
      }
    }
  }
  add(Kind.passFinished);
  const all = <T>(make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
  return {
    format: "undertow-trace",
    version: 1,
    meta: { program: "test.py", forward: false, values: options.norms !== undefined },
    nodes: {
      name_s: all((n) => string(options.names?.[n] ?? (leaf(n) ? "AccumulateGrad" : "MulBackward0"))),
      kind: all((n) => (leaf(n) ? 1 : 0)),
      sequence: all((n) => (leaf(n) ? -1 : count - n)),
      operator: all(() => -1),
      file: all(() => 0),
      line: all((n) => n + 1),
      function_s: all(() => -1),
      stack: all(() => null),
      module: all((n) => paths.indexOf(options.modules?.[n] ?? options.calls?.[options.call?.[n] ?? -1]?.[0] ?? "?")),
      call: all((n) => options.call?.[n] ?? -1),
      outputs: all(() => [["float32", [2, 2]]]),
      saved: all((n) => (leaf(n) ? [] : [["self", "float32", [2, 2], 16, n]])),
      leaf_s: all((n) => (leaf(n) ? string(`w${n}`) : -1)),
      forward_time: all(() => null),
    },
    edges: { from: edges.map(([a]) => a), from_slot: edges.map(() => 0), to: edges.map(([, b]) => b), to_slot: edges.map(() => 0) },
    modules: {
      path_s: paths.map(string),
      class_s: paths.map(() => 0),
      parent: paths.map((p) => (p === "" ? -1 : Math.max(0, paths.indexOf(p.split(".").slice(0, -1).join("."))))),
    },
    calls: { module: (options.calls ?? []).map(([module]) => paths.indexOf(module)), parent: (options.calls ?? []).map(([, parent]) => parent) },
    files: [{ path: "test.py", text: null }],
    events,
    values,
    threads: { number: [0], name_s: [-1] },
    passes: {
      number: [0],
      parent: [-1],
      depth: [0],
      thread: [0],
      kind_s: [1],
      start: [0],
      end: [10 * events.kind!.length],
      keep_graph: [0],
      create_graph: [0],
      roots: [[0]],
      captures: [[]],
      error_s: [-1],
      step: [null],
    },
    strings,
  };
}

export function recorded(count: number, edges: [number, number][], options: Options = {}): Recording {
  return new Recording(recordingOf(count, edges, options));
}

/** 0 → 1 → 3, 0 → 2 → 3: node 3 waits for two gradients. */
export const DIAMOND: [number, number][] = [
  [0, 1],
  [0, 2],
  [1, 3],
  [2, 3],
];

/** A repeatable sequence of numbers from 0 to 1. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
