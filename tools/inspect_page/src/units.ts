// units.ts: to which module, and to which call of it, the nodes of one pass belong. A module that is called more than once inside the same
// call around it (a recurrent cell, a shared layer) has one unit for each call, inside the unit of the module.
import { NodeKind, type Recording } from "./recording.ts";

const DEEPEST = 200; // a module that calls itself again and again is not drawn deeper

export interface Unit {
  key: string; // stable name, for links: the path of the module, and #3 for its third call
  module: number;
  call: number; // from 1; 0: the module, not one call of it
  calls: number; // how many there are
  parent: number; // −1: none
  depth: number;
  count: number; // nodes inside, at any depth, once somebody has counted them
}

export class Units {
  readonly all: Unit[] = []; // row 0 is the root; parents come before their children
  private readonly children = new Map<number, number>(); // units of modules, by parent and module
  private readonly ofCall: Int32Array; // of each call; −1: not in this pass
  private readonly moduleOfCall: Int32Array; // the unit of its module
  private readonly ofLeaf = new Map<number, number>();

  constructor(
    private readonly recording: Recording,
    inside: Uint8Array,
  ) {
    const { calls, nodes } = recording;
    this.all.push({ key: "", module: recording.modules.rows > 0 ? 0 : -1, call: 0, calls: 0, parent: -1, depth: 0, count: 0 });
    const used = new Uint8Array(calls.rows);
    for (let n = 0; n < nodes.rows; n++) if (inside[n]) for (let c = nodes.call[n]!; c >= 0 && !used[c]; c = calls.parent[c]!) used[c] = 1;
    this.ofCall = new Int32Array(calls.rows).fill(-1);
    this.moduleOfCall = new Int32Array(calls.rows).fill(-1);
    this.readCalls(used);
    for (let i = 0; i < recording.params.rows; i++) {
      const leaf = recording.params.node[i]!;
      if (leaf >= 0 && !this.ofLeaf.has(leaf)) this.ofLeaf.set(leaf, recording.params.module[i]!);
    }
    this.placeLeaves(used);
  }

  /** The unit of a node. */
  of(node: number): number {
    const { nodes, into, edges } = this.recording;
    const call = nodes.call[node]!;
    if (call >= 0) return Math.max(this.ofCall[call]!, 0);
    const leaf = this.ofLeaf.get(node);
    if (leaf !== undefined) return leaf;
    let module = nodes.module[node]!;
    if (module < 0 && nodes.kind[node] === NodeKind.accumulate && into.of(node).length > 0) {
      const user = edges.from[into.of(node)[0]!]!;
      if (nodes.call[user]! >= 0) return Math.max(this.ofCall[nodes.call[user]!]!, 0);
      module = nodes.module[user]!;
    }
    return module < 0 ? 0 : this.unitOf(0, module);
  }

  private readCalls(used: Uint8Array): void {
    const { calls } = this.recording;
    const number = new Map<string, number>(); // calls of a module inside the same call
    const place = (c: number): string => `${calls.parent[c]} ${calls.module[c]}`;
    for (let c = 0; c < calls.rows; c++) if (used[c]) number.set(place(c), (number.get(place(c)) ?? 0) + 1);
    const seen = new Map<string, number>();
    for (let c = 0; c < calls.rows; c++) {
      if (!used[c]) continue;
      const around = calls.parent[c]! < 0 ? 0 : this.ofCall[calls.parent[c]!]!;
      const unit = (this.moduleOfCall[c] = this.unitOf(around, calls.module[c]!));
      const total = number.get(place(c))!;
      const mine = (seen.get(place(c)) ?? 0) + 1;
      seen.set(place(c), mine);
      this.ofCall[c] = total === 1 ? unit : this.add(unit, calls.module[c]!, `${this.all[unit]!.key}#${mine}`, mine, total);
    }
  }

  // The parameters of a module are in its unit; if it is called in several places, in the smallest unit around them.
  private placeLeaves(used: Uint8Array): void {
    const { calls } = this.recording;
    const around = new Map<number, number>();
    for (let c = 0; c < calls.rows; c++) {
      if (!used[c]) continue;
      const module = calls.module[c]!,
        before = around.get(module);
      around.set(module, before === undefined ? this.moduleOfCall[c]! : this.common(before, this.moduleOfCall[c]!));
    }
    for (const [leaf, module] of this.ofLeaf) this.ofLeaf.set(leaf, around.get(module) ?? (module < 0 ? 0 : this.unitOf(0, module)));
  }

  private common(a: number, b: number): number {
    while (a !== b) {
      if (this.all[a]!.depth >= this.all[b]!.depth) a = this.all[a]!.parent;
      else b = this.all[b]!.parent;
    }
    return a;
  }

  /** The unit of a module inside another unit; made if it is new, with those of the modules between. */
  private unitOf(around: number, module: number): number {
    const { modules } = this.recording;
    if (module === this.all[around]!.module && this.all[around]!.call === 0) return around;
    const between = [module]; // a container, such as a ModuleList, is not called itself
    let top = modules.parent[module]!;
    while (top > 0 && top !== this.all[around]!.module) {
      between.push(top);
      top = modules.parent[top]!;
    }
    if (Math.max(top, 0) !== Math.max(this.all[around]!.module, 0)) between.length = 1; // it is no part of the module around it
    let unit = around;
    for (const m of between.reverse()) {
      const key = unit * modules.rows + m;
      let next = this.children.get(key);
      if (next === undefined) {
        const path = this.recording.modulePath(m),
          above = this.recording.modulePath(this.all[unit]!.module);
        const rest = above && path.startsWith(above + ".") ? path.slice(above.length + 1) : path;
        next = this.add(unit, m, [this.all[unit]!.key, rest].filter(Boolean).join("."), 0, 0);
        this.children.set(key, next);
      }
      unit = next;
    }
    return unit;
  }

  private add(parent: number, module: number, key: string, call: number, calls: number): number {
    const depth = this.all[parent]!.depth + 1;
    if (depth > DEEPEST) return parent;
    return this.all.push({ key, module, call, calls, parent, depth, count: 0 }) - 1;
  }
}
