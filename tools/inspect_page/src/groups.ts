// groups.ts: the tree in which the nodes of one pass are drawn: modules inside modules (units.ts), and runs of nodes where a module has too
// many. Knows nothing of positions.
import { nameParts } from "./format.ts";
import type { Recording } from "./recording.ts";
import { Units } from "./units.ts";

const CROWDED = 48; // a group with more members than this is divided into runs

export interface Group {
  key: string; // stable name, for links
  label: string;
  detail: string; // the module's class, or what the run is
  path: string; // of the module around it
  module: number; // row of modules, −1 for a run
  call: number; // which call of the module, from 1; 0: all of them
  parent: number;
  groups: number[];
  nodes: number[];
  count: number; // nodes inside, at any depth
}

export interface Grouping {
  groups: Group[]; // row 0 is the root
  nodes: Int32Array; // the nodes shown, in an order that respects the edges
  groupOf: Int32Array; // of each node of the recording; −1 where it is not shown
}

/** The nodes that a pass can reach from its roots, those of the passes inside it included. −1: all nodes. */
function nodesOfPass(recording: Recording, pass: number): Uint8Array {
  const inside = new Uint8Array(recording.nodes.rows);
  if (pass < 0) return inside.fill(1);
  const todo: number[] = [];
  const visit = (node: number): void => {
    if (inside[node]) return;
    inside[node] = 1;
    todo.push(node);
  };
  for (let p = pass; p < recording.passes.rows; p++) {
    if (recording.topPass(p) === pass) for (const root of recording.passes.roots[p] as number[]) visit(root);
  }
  if (recording.passes.rows === 1)
    for (let i = 0; i < recording.events.length; i++) if (recording.events.node[i]! >= 0) visit(recording.events.node[i]!);
  while (todo.length > 0) for (const edge of recording.out.of(todo.pop()!)) visit(recording.edges.to[edge]!);
  return inside;
}

/** An order in which every gradient is produced before it is used: Kahn's algorithm with the engine's choice, leaves and then the newest operation first. */
function topologicalOrder(recording: Recording, inside: Uint8Array): Int32Array {
  const { edges, nodes } = recording;
  const remaining = new Int32Array(nodes.rows);
  for (let e = 0; e < edges.rows; e++) if (inside[edges.from[e]!] && inside[edges.to[e]!]) remaining[edges.to[e]!]!++;
  const order: number[] = [];
  const rank = (node: number): number => (nodes.sequence[node]! >= 0 ? nodes.sequence[node]! : Infinity);
  const ready = new Heap((a, b) => rank(a) > rank(b));
  for (let n = 0; n < nodes.rows; n++) if (inside[n] && remaining[n] === 0) ready.push(n);
  const placed = new Uint8Array(nodes.rows);
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    order.push(node);
    placed[node] = 1;
    for (const edge of recording.out.of(node)) {
      const to = edges.to[edge]!;
      if (inside[to] && --remaining[to]! === 0) ready.push(to);
    }
  }
  for (let n = 0; n < nodes.rows; n++) if (inside[n] && !placed[n]) order.push(n); // only a damaged file has a cycle
  return Int32Array.from(order);
}

/** A binary heap of numbers. */
class Heap {
  private readonly items: number[] = [];

  constructor(private readonly before: (a: number, b: number) => boolean) {}

  push(item: number): void {
    const { items, before } = this;
    let at = items.push(item) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!before(item, items[above]!)) break;
      items[at] = items[above]!;
      at = above;
    }
    items[at] = item;
  }

  pop(): number | undefined {
    const { items, before } = this;
    const first = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= items.length) break;
      if (below + 1 < items.length && before(items[below + 1]!, items[below]!)) below++;
      if (!before(items[below]!, last)) break;
      items[at] = items[below]!;
      at = below;
    }
    items[at] = last;
    return first;
  }
}

export function groupNodes(recording: Recording, pass: number): Grouping {
  const inside = nodesOfPass(recording, pass);
  const order = topologicalOrder(recording, inside);
  const units = new Units(recording, inside);
  const { all } = units;
  for (const node of order) all[units.of(node)]!.count++;
  for (let u = all.length - 1; u > 0; u--) all[all[u]!.parent]!.count += all[u]!.count;

  // Modules with one node are shown as that node; modules without nodes are not shown.
  const groups: Group[] = [];
  const groupOfUnit = new Int32Array(all.length);
  all.forEach((unit, u) => {
    if (u > 0 && unit.count < 2) {
      groupOfUnit[u] = groupOfUnit[unit.parent]!;
      return;
    }
    const parent = u === 0 ? -1 : groupOfUnit[unit.parent]!;
    const path = recording.modulePath(unit.module);
    const above = parent < 0 ? "" : groups[parent]!.path;
    const label = above && path.startsWith(above + ".") ? path.slice(above.length + 1) : path;
    groupOfUnit[u] = groups.length;
    if (parent >= 0) groups[parent]!.groups.push(groups.length);
    groups.push({
      key: unit.key,
      label: unit.call > 0 ? `Call ${unit.call}` : label || "(whole pass)",
      detail: unit.call > 0 ? `of ${unit.calls}` : recording.moduleClass(unit.module),
      path,
      module: unit.module,
      call: unit.call,
      parent,
      groups: [],
      nodes: [],
      count: unit.count,
    });
  });
  const groupOf = new Int32Array(recording.nodes.rows).fill(-1);
  for (const node of order) {
    const group = groupOfUnit[units.of(node)]!;
    groupOf[node] = group;
    groups[group]!.nodes.push(node);
  }
  divideCrowded(recording, groups, groupOf, order);
  return { groups, nodes: order, groupOf };
}

// A run holds consecutive members of the topological order, so runs never depend on each other in a circle. Modules stay where they are
// unless there are too many of them.
function divideCrowded(recording: Recording, groups: Group[], groupOf: Int32Array, order: Int32Array): void {
  const position = new Int32Array(groupOf.length);
  order.forEach((node, i) => {
    position[node] = i;
  });
  const first = new Float64Array(groups.length).fill(Infinity);
  for (let g = groups.length - 1; g >= 0; g--) {
    for (const node of groups[g]!.nodes) first[g] = Math.min(first[g]!, position[node]!);
    if (groups[g]!.parent >= 0) first[groups[g]!.parent] = Math.min(first[groups[g]!.parent]!, first[g]!);
  }
  const modules = groups.length;
  for (let g = 0; g < modules; g++) {
    const group = groups[g]!;
    const inside: Member[] = group.groups.map((inner) => ({ group: inner, node: -1, at: first[inner]!, count: groups[inner]!.count }));
    const nodes: Member[] = group.nodes.map((node) => ({ group: -1, node, at: position[node]!, count: 1 }));
    const members =
      inside.length <= CROWDED / 2
        ? [...inside, ...runsOf(recording, groups, groupOf, g, nodes, Math.max(2, CROWDED - inside.length))]
        : runsOf(
            recording,
            groups,
            groupOf,
            g,
            [...inside, ...nodes].sort((a, b) => a.at - b.at),
            CROWDED,
          );
    members.sort((a, b) => a.at - b.at);
    group.nodes = members.filter((m) => m.node >= 0).map((m) => m.node);
    group.groups = members.filter((m) => m.group >= 0).map((m) => m.group);
  }
}

interface Member {
  group: number;
  node: number;
  at: number;
  count: number;
}

function runsOf(recording: Recording, groups: Group[], groupOf: Int32Array, parent: number, members: Member[], limit: number): Member[] {
  const { key, path } = groups[parent]!;
  for (let level = 0; members.length > limit; level++) {
    const runs = Math.ceil(members.length / CROWDED);
    const size = Math.ceil(members.length / runs);
    const next: Member[] = [];
    for (let start = 0; start < members.length; start += size) {
      const part = members.slice(start, start + size);
      const id = groups.length,
        number = next.length + 1;
      const nodes = part.filter((m) => m.node >= 0).map((m) => m.node);
      groups.push({
        key: `${key}~${level}.${number}`,
        label: `${level === 0 ? "Part" : "Section"} ${number}`,
        detail:
          level > 0
            ? mostFrequent(part.map((m) => groups[m.group]!.detail))
            : nodes.length > 0
              ? commonNames(recording, nodes)
              : `${part.length} modules`,
        path,
        module: -1,
        call: 0,
        parent,
        groups: [],
        nodes,
        count: part.reduce((sum, m) => sum + m.count, 0),
      });
      for (const m of part) {
        if (m.node >= 0) groupOf[m.node] = id;
        else {
          groups[m.group]!.parent = id;
          groups[id]!.groups.push(m.group);
        }
      }
      next.push({ group: id, node: -1, at: part[0]!.at, count: groups[id]!.count });
    }
    members = next;
  }
  return members;
}

function mostFrequent(texts: string[]): string {
  const count = new Map<string, number>();
  for (const text of texts) count.set(text, (count.get(text) ?? 0) + 1);
  return [...count].reduce((best, entry) => (entry[1] > best[1] ? entry : best))[0];
}

/** The two most frequent kinds of nodes, as the name of a run. */
function commonNames(recording: Recording, nodes: number[]): string {
  const count = new Map<string, number>();
  for (const n of nodes) {
    const name = nameParts(recording.nodeName(n))[0];
    count.set(name, (count.get(name) ?? 0) + 1);
  }
  return [...count]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 2)
    .map(([name]) => name)
    .join(", ");
}
