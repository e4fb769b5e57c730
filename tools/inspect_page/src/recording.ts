// recording.ts: a recording in memory: the tables of the file as typed columns, and what is derived from them once.
// The format is described in undertow/inspect; this file reads it and knows nothing of drawing.
import { array, DamagedRecording, Grouped, object, Table } from "./columns.ts";

export const Kind = {
  passStarted: 0,
  passFinished: 1,
  ready: 2,
  started: 3,
  tensorHook: 4,
  retainsGradHook: 5,
  preHook: 6,
  postHook: 7,
  finished: 8,
  arrived: 9,
  accumulated: 10,
  captured: 11,
  released: 12,
  failed: 13,
  forward: 14,
} as const;
export const NodeKind = { operator: 0, accumulate: 1, custom: 2, structural: 3, extension: 4 } as const;

const MAX_DEPTH = 200; // of modules; deeper nesting is not a program but a damaged file

export interface Meta {
  program: string;
  library: string;
  libraryVersion: string;
  created: string;
  python: string;
  forward: boolean;
  values: boolean;
  truncated: boolean;
}
export interface SourceFile {
  path: string;
  text: string | null;
  lines: string[] | null;
}
export interface Saved {
  name: string;
  dtype: string;
  shape: number[];
  bytes: number;
  storage: number;
}
export interface Slot {
  dtype: string;
  shape: number[];
}
export interface Histogram {
  edges: number[];
  counts: number[];
}
export interface Note {
  level: string;
  text: string;
  node: number;
}
export interface Frame {
  file: number;
  line: number;
  function: string;
}

const BYTES: Record<string, number> = {
  float64: 8,
  double: 8,
  int64: 8,
  complex64: 8,
  float32: 4,
  int32: 4,
  float16: 2,
  bfloat16: 2,
  int16: 2,
  uint8: 1,
  int8: 1,
  bool: 1,
  complex128: 16,
};

export function elements(shape: number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Tests that every entry is a list with a shape at position `at`. */
function checkShapes(value: unknown[], at: number, what: string): void {
  for (const entry of value) {
    if (!Array.isArray(entry) || !Array.isArray(entry[at])) throw new DamagedRecording(`${what} has an entry without a shape`);
    for (const size of entry[at]) if (typeof size !== "number" || size < 0) throw new DamagedRecording(`${what} has a size that is not a number`);
  }
}

/** The events, in columns that can grow: a live page appends to them. */
export class Events {
  length = 0;
  kind = new Uint8Array(0);
  time = new Float64Array(0);
  thread = new Int32Array(0);
  pass = new Int32Array(0);
  node = new Int32Array(0);
  other = new Int32Array(0);
  slot = new Int32Array(0);
  dependencies = new Int32Array(0);
  memory = new Float64Array(0);

  append(table: Table, nodes: number, passes: number, threads: number): void {
    const kind = table.integers("kind");
    for (let i = 0; i < kind.length; i++) if (kind[i]! < 0 || kind[i]! > 14) table.refuse("kind", i, kind[i], "an event kind from 0 to 14");
    const at = this.length,
      end = at + table.rows;
    if (end > this.kind.length) this.grow(at === 0 ? end : Math.max(end, 2 * this.kind.length));
    this.kind.set(kind, at);
    this.time.set(table.numbers("time"), at);
    this.thread.set(table.index("thread", threads), at);
    this.pass.set(table.index("pass", passes), at);
    this.node.set(table.index("node", nodes), at);
    this.other.set(table.integers("other"), at);
    this.slot.set(table.integers("slot"), at);
    this.dependencies.set(table.integers("dependencies"), at);
    this.memory.set(table.numbers("memory"), at);
    for (let i = at; i < end; i++) {
      if (this.node[i]! < 0 && this.kind[i]! > Kind.passFinished)
        table.refuse("node", i - at, this.node[i], "a node: only passes start and finish without one");
      if (this.kind[i] === Kind.arrived && this.other[i]! >= nodes) table.refuse("other", i - at, this.other[i], "a node number");
    }
    this.length = end;
  }

  private grow(capacity: number): void {
    const moved = <T extends Uint8Array | Int32Array | Float64Array>(fresh: T, old: T): T => {
      fresh.set(old);
      return fresh;
    };
    this.kind = moved(new Uint8Array(capacity), this.kind);
    this.time = moved(new Float64Array(capacity), this.time);
    this.memory = moved(new Float64Array(capacity), this.memory);
    for (const key of ["thread", "pass", "node", "other", "slot", "dependencies"] as const) this[key] = moved(new Int32Array(capacity), this[key]);
  }
}

export class Recording {
  readonly meta: Meta;
  readonly strings: string[];
  readonly files: SourceFile[];
  readonly modules: { rows: number; path: Int32Array; class: Int32Array; parent: Int32Array };
  readonly calls: { rows: number; module: Int32Array; parent: Int32Array }; // calls of modules, in order
  readonly operators: { rows: number; name: Int32Array; doc: Int32Array; forward: Int32Array; grads: unknown[][] };
  nodes: {
    rows: number;
    name: Int32Array;
    kind: Int32Array;
    sequence: Float64Array;
    operator: Int32Array;
    file: Int32Array;
    line: Int32Array;
    function: Int32Array;
    stack: unknown[][];
    module: Int32Array;
    call: Int32Array;
    outputs: unknown[][];
    saved: unknown[][];
    leaf: Int32Array;
    forwardTime: Float64Array;
  };
  edges: { rows: number; from: Int32Array; to: Int32Array; toSlot: Int32Array; fromSlot: Int32Array };
  out: Grouped; // edges by the node that produces the gradient
  into: Grouped; // edges by the node that gets it
  passes: {
    rows: number;
    number: Int32Array;
    parent: Int32Array;
    depth: Int32Array;
    thread: Int32Array;
    kind: Int32Array;
    start: Float64Array;
    end: Float64Array;
    keepGraph: Int32Array;
    createGraph: Int32Array;
    roots: unknown[][];
    captures: unknown[][];
    error: Int32Array;
    step: Int32Array;
  };
  threads: { rows: number; number: Int32Array; name: Int32Array };
  readonly events = new Events();
  values: {
    rows: number;
    event: Int32Array;
    node: Int32Array;
    slot: Int32Array;
    norm: Float64Array;
    min: Float64Array;
    max: Float64Array;
    mean: Float64Array;
    zeros: Float64Array;
    nan: Float64Array;
    inf: Float64Array;
    size: Float64Array;
    histogram: unknown[];
  };
  params: { rows: number; name: Int32Array; node: Int32Array; module: Int32Array; shape: unknown[][]; grad: unknown[] };
  hooks: { rows: number; node: Int32Array; kind: unknown[]; name: Int32Array; file: Int32Array; line: Int32Array };
  readonly notes: Note[];

  private byNode: Grouped | null = null;
  private byNodeLength = -1;
  private valuesByNode: Grouped | null = null;

  constructor(data: unknown) {
    const whole = object(data, "the file");
    if (whole.format !== "undertow-trace")
      throw new DamagedRecording(
        "this is not a recording of undertow.inspect (its format says " + JSON.stringify(whole.format ?? null)?.slice(0, 40) + ")",
      );
    if (whole.version !== 1)
      throw new DamagedRecording(`this recording has format version ${JSON.stringify(whole.version)?.slice(0, 20)}; this page reads version 1`);
    const meta = object(whole.meta ?? {}, "meta");
    const said = (key: string): string => (typeof meta[key] === "string" ? (meta[key] as string) : "");
    this.meta = {
      program: said("program"),
      library: said("library"),
      libraryVersion: said("library_version"),
      created: said("created"),
      python: said("python"),
      forward: meta.forward === true,
      values: meta.values === true,
      truncated: meta.truncated === true,
    };
    this.strings = array(whole.strings ?? [], "strings").map((s, i) => {
      if (typeof s !== "string") throw new DamagedRecording(`strings[${i}] is not a string`);
      return s;
    });
    const strings = this.strings.length;
    this.files = array(whole.files ?? [], "files").map((value, i) => {
      const file = object(value, `files[${i}]`);
      const text = typeof file.text === "string" ? file.text : null;
      return { path: typeof file.path === "string" ? file.path : "?", text, lines: null };
    });

    const m = new Table(whole, "modules", "path_s");
    this.modules = { rows: m.rows, path: m.index("path_s", strings), class: m.index("class_s", strings), parent: m.index("parent", m.rows) };
    this.checkModules();
    const c = new Table(whole, "calls", "module");
    this.calls = { rows: c.rows, module: c.index("module", m.rows), parent: c.index("parent", c.rows) };
    for (let i = 0; i < c.rows; i++) {
      if (this.calls.module[i]! < 0) c.refuse("module", i, this.calls.module[i], "a module");
      if (this.calls.parent[i]! >= i) c.refuse("parent", i, this.calls.parent[i], "an earlier call");
    }
    const o = new Table(whole, "operators", "name_s");
    this.operators = {
      rows: o.rows,
      name: o.index("name_s", strings),
      doc: o.index("doc_s", strings),
      forward: o.index("forward_s", strings),
      grads: o.lists("grads"),
    };

    const n = new Table(whole, "nodes", "name_s");
    this.nodes = {
      rows: n.rows,
      name: n.index("name_s", strings),
      kind: n.integers("kind", 0),
      sequence: n.numbers("sequence"),
      operator: n.index("operator", o.rows),
      file: n.index("file", this.files.length),
      line: n.integers("line"),
      function: n.index("function_s", strings),
      stack: n.lists("stack"),
      module: n.index("module", m.rows),
      call: n.index("call", c.rows),
      outputs: n.lists("outputs"),
      saved: n.lists("saved"),
      leaf: n.index("leaf_s", strings),
      forwardTime: n.numbers("forward_time"),
    };
    this.checkLists();
    const e = new Table(whole, "edges", "from");
    this.edges = {
      rows: e.rows,
      from: e.index("from", n.rows),
      to: e.index("to", n.rows),
      fromSlot: e.integers("from_slot"),
      toSlot: e.integers("to_slot"),
    };
    this.out = new Grouped(this.edges.from, n.rows);
    this.into = new Grouped(this.edges.to, n.rows);

    const t = new Table(whole, "threads", "number");
    this.threads = { rows: t.rows, number: t.integers("number"), name: t.index("name_s", strings) };
    const p = new Table(whole, "passes", "number");
    this.passes = {
      rows: p.rows,
      number: p.integers("number"),
      parent: p.index("parent", p.rows),
      depth: p.integers("depth", 0),
      thread: p.index("thread", Math.max(t.rows, 1)),
      kind: p.index("kind_s", strings),
      start: p.numbers("start"),
      end: p.numbers("end"),
      keepGraph: p.integers("keep_graph", 0),
      createGraph: p.integers("create_graph", 0),
      roots: p.lists("roots"),
      captures: p.lists("captures"),
      error: p.index("error_s", strings),
      step: p.integers("step"),
    };
    for (let i = 0; i < p.rows; i++) {
      if (this.passes.parent[i]! >= i) p.refuse("parent", i, this.passes.parent[i], "an earlier pass");
      for (const root of this.passes.roots[i]!) this.checkNode(root, `passes.roots[${i}]`);
    }
    this.events.append(new Table(whole, "events", "kind"), n.rows, p.rows, Math.max(t.rows, 1));

    this.values = this.readValues(new Table(whole, "values", "event"));
    const a = new Table(whole, "params", "name_s");
    this.params = {
      rows: a.rows,
      name: a.index("name_s", strings),
      node: a.index("node", n.rows),
      module: a.index("module", m.rows),
      shape: a.lists("shape"),
      grad: a.column("grad") ?? [],
    };
    const h = new Table(whole, "hooks", "node");
    this.hooks = {
      rows: h.rows,
      node: h.index("node", n.rows),
      kind: h.column("kind") ?? [],
      name: h.index("name_s", strings),
      file: h.index("file", this.files.length),
      line: h.integers("line"),
    };
    this.notes = array(whole.notes ?? [], "notes").map((value, i) => {
      const note = object(value, `notes[${i}]`);
      const node = typeof note.node === "number" && note.node >= 0 && note.node < n.rows ? note.node : -1;
      return { level: String(note.level ?? "info"), text: String(note.text ?? ""), node };
    });
  }

  private readValues(v: Table): Recording["values"] {
    return {
      rows: v.rows,
      event: v.index("event", Math.max(this.events.length, 1)),
      node: v.index("node", this.nodes.rows),
      slot: v.integers("slot"),
      norm: v.numbers("norm"),
      min: v.numbers("min"),
      max: v.numbers("max"),
      mean: v.numbers("mean"),
      zeros: v.numbers("zeros"),
      nan: v.numbers("nan"),
      inf: v.numbers("inf"),
      size: v.numbers("size"),
      histogram: v.column("histogram") ?? new Array(v.rows).fill(null),
    };
  }

  /** Adds the events that a live pass has made since, and the values seen with them. */
  append(events: Table, values: Table): void {
    this.events.append(events, this.nodes.rows, this.passes.rows, Math.max(this.threads.rows, 1));
    if (values.rows === 0) return;
    const old = this.values,
      more = this.readValues(values);
    const joined = <T extends Int32Array | Float64Array>(a: T, b: T): T => {
      const out = new (a.constructor as new (n: number) => T)(a.length + b.length);
      out.set(a);
      out.set(b, a.length);
      return out;
    };
    this.values = {
      rows: old.rows + more.rows,
      event: joined(old.event, more.event),
      node: joined(old.node, more.node),
      slot: joined(old.slot, more.slot),
      norm: joined(old.norm, more.norm),
      min: joined(old.min, more.min),
      max: joined(old.max, more.max),
      mean: joined(old.mean, more.mean),
      zeros: joined(old.zeros, more.zeros),
      nan: joined(old.nan, more.nan),
      inf: joined(old.inf, more.inf),
      size: joined(old.size, more.size),
      histogram: [...old.histogram, ...more.histogram],
    };
    this.valuesByNode = null;
  }

  /** Lists inside rows, which the columns do not check. */
  private checkLists(): void {
    const { nodes, operators } = this;
    for (let n = 0; n < nodes.rows; n++) {
      checkShapes(nodes.outputs[n]!, 1, `nodes.outputs[${n}]`);
      checkShapes(nodes.saved[n]!, 2, `nodes.saved[${n}]`);
      for (const frame of nodes.stack[n]!) array(frame, `nodes.stack[${n}]`);
    }
    operators.grads.forEach((grads, i) => {
      for (const grad of grads) array(grad, `operators.grads[${i}]`);
    });
  }

  private checkModules(): void {
    const depth = new Int32Array(this.modules.rows);
    for (let i = 1; i < this.modules.rows; i++) {
      const parent = this.modules.parent[i]!;
      if (parent >= i) throw new DamagedRecording(`modules.parent[${i}] is ${parent}; a parent comes before its children`);
      depth[i] = parent < 0 ? 1 : depth[parent]! + 1;
      if (depth[i]! > MAX_DEPTH) throw new DamagedRecording(`modules are nested more than ${MAX_DEPTH} deep`);
    }
  }

  private checkNode(value: unknown, what: string): void {
    if (typeof value !== "number" || !(value >= 0 && value < this.nodes.rows)) throw new DamagedRecording(`${what} names a node that does not exist`);
  }

  text(string: number): string {
    return string < 0 ? "" : this.strings[string]!;
  }

  nodeName(node: number): string {
    return this.text(this.nodes.name[node]!) || `node ${node}`;
  }

  /** How a person would name this node: a leaf by its parameter, another by its class. */
  title(node: number): string {
    const leaf = this.text(this.nodes.leaf[node]!);
    return leaf ? `${leaf}.grad` : this.nodeName(node);
  }

  modulePath(module: number): string {
    return module < 0 ? "" : this.text(this.modules.path[module]!);
  }

  moduleClass(module: number): string {
    return module < 0 ? "" : this.text(this.modules.class[module]!);
  }

  place(node: number): string {
    const file = this.nodes.file[node]!;
    return file < 0 ? "" : `${this.files[file]!.path.split("/").pop()}:${this.nodes.line[node]}`;
  }

  lines(file: number): string[] | null {
    const f = this.files[file];
    if (!f || f.text === null) return null;
    return (f.lines ??= f.text.split(/\r?\n/));
  }

  outputs(node: number): Slot[] {
    return (this.nodes.outputs[node] as [string, number[]][]).map(([dtype, shape]) => ({ dtype: dtype === null ? "" : String(dtype), shape })); // "": unknown
  }

  saved(node: number): Saved[] {
    return (this.nodes.saved[node] as [string, string, number[], number, unknown][]).map(([name, dtype, shape, bytes, storage]) => ({
      name: String(name),
      dtype: String(dtype),
      shape,
      bytes: Number(bytes) || 0,
      storage: typeof storage === "number" ? storage : -1,
    }));
  }

  stack(node: number): Frame[] {
    return (this.nodes.stack[node] as number[][]).flatMap(([file, line, fn]) =>
      this.files[file!] ? [{ file: file!, line: line!, function: this.strings[fn!] ?? "" }] : [],
    );
  }

  /** Name of an input, formula of its gradient. */
  formulas(operator: number): [string, string][] {
    return (this.operators.grads[operator] as unknown[][]).map(([name, formula]) => [String(name), String(formula)]);
  }

  gradientBytes(slot: Slot): number {
    return elements(slot.shape) * (BYTES[slot.dtype] ?? 4);
  }

  eventsOf(node: number): Int32Array {
    if (this.byNode === null || this.byNodeLength !== this.events.length) {
      this.byNode = new Grouped(this.events.node, this.nodes.rows, this.events.length);
      this.byNodeLength = this.events.length;
    }
    return this.byNode.of(node);
  }

  valuesOf(node: number): Int32Array {
    this.valuesByNode ??= new Grouped(this.values.node, this.nodes.rows);
    return this.valuesByNode.of(node);
  }

  histogram(row: number): Histogram | null {
    const value = this.values.histogram[row];
    const { edges, counts } = (typeof value === "object" && value !== null ? value : {}) as Partial<Histogram>;
    const numbers = (list: unknown): list is number[] => Array.isArray(list) && list.every((v) => typeof v === "number");
    return numbers(edges) && numbers(counts) && edges.length > 0 ? { edges, counts } : null;
  }

  /** The outermost pass around a pass. */
  topPass(pass: number): number {
    while (pass >= 0 && this.passes.parent[pass]! >= 0) pass = this.passes.parent[pass]!;
    return pass;
  }
}
