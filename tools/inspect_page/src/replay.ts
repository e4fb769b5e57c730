// replay.ts: the engine's state after any event, by replaying the recording forward or backward.
// Each event keeps what it changed, so a step back is as cheap as a step forward, and a jump is a loop over the events between.
import { Kind, type Recording } from "./recording.ts";

export const Status = { idle: 0, waiting: 1, ready: 2, running: 3, done: 4, failed: 5 } as const;
export const STATUS_NAMES = ["not reached", "waiting", "ready", "running", "done", "failed"];

/** A set of small numbers with constant-time changes and a dense list of its members. */
class NumberSet {
  readonly members: number[] = [];
  private readonly place: Int32Array;

  constructor(limit: number) {
    this.place = new Int32Array(limit).fill(-1);
  }

  has(n: number): boolean {
    return this.place[n]! >= 0;
  }

  set(n: number, inside: boolean): void {
    const at = this.place[n]!;
    if (inside === at >= 0) return;
    if (inside) {
      this.place[n] = this.members.push(n) - 1;
    } else {
      const last = this.members.pop()!;
      if (last !== n) {
        this.members[at] = last;
        this.place[last] = at;
      }
      this.place[n] = -1;
    }
  }
}

export class Replay {
  /** Number of events applied; the last applied event is `at - 1`. */
  at = 0;
  readonly status: Uint8Array;
  readonly dependencies: Int32Array;
  readonly arrived: Int32Array; // gradients in the node's input buffer
  readonly pass: Int32Array; // the pass that touched the node last
  readonly released: Uint8Array;
  readonly ready: NumberSet;
  readonly waiting: NumberSet;
  readonly running: NumberSet;
  private before = {
    length: 0,
    status: new Uint8Array(0),
    dependencies: new Int32Array(0),
    arrived: new Int32Array(0),
    pass: new Int32Array(0),
    released: new Uint8Array(0),
  };

  constructor(readonly recording: Recording) {
    const n = recording.nodes.rows;
    this.status = new Uint8Array(n);
    this.dependencies = new Int32Array(n).fill(-1);
    this.arrived = new Int32Array(n);
    this.pass = new Int32Array(n).fill(-1);
    this.released = new Uint8Array(n);
    this.ready = new NumberSet(n);
    this.waiting = new NumberSet(n);
    this.running = new NumberSet(n);
    this.makeRoom();
  }

  private makeRoom(): void {
    const length = this.recording.events.kind.length;
    if (length <= this.before.length) return;
    const old = this.before;
    this.before = {
      length,
      status: new Uint8Array(length),
      dependencies: new Int32Array(length),
      arrived: new Int32Array(length),
      pass: new Int32Array(length),
      released: new Uint8Array(length),
    };
    this.before.status.set(old.status);
    this.before.dependencies.set(old.dependencies);
    this.before.arrived.set(old.arrived);
    this.before.pass.set(old.pass);
    this.before.released.set(old.released);
  }

  /** Makes the state that of just after event `event` (−1: before the first). */
  seek(event: number): void {
    this.makeRoom();
    const target = Math.max(0, Math.min(this.recording.events.length, event + 1));
    while (this.at < target) this.forward(this.at++);
    while (this.at > target) this.back(--this.at);
  }

  private setStatus(node: number, status: number): void {
    const old = this.status[node]!;
    if (old === status) return;
    if (old === Status.ready) this.ready.set(node, false);
    else if (old === Status.waiting) this.waiting.set(node, false);
    else if (old === Status.running) this.running.set(node, false);
    this.status[node] = status;
    if (status === Status.ready) this.ready.set(node, true);
    else if (status === Status.waiting) this.waiting.set(node, true);
    else if (status === Status.running) this.running.set(node, true);
  }

  private forward(i: number): void {
    const { kind, node: nodes, pass, dependencies, slot } = this.recording.events;
    const node = nodes[i]!;
    if (node < 0) return;
    const b = this.before;
    b.status[i] = this.status[node]!;
    b.dependencies[i] = this.dependencies[node]!;
    b.arrived[i] = this.arrived[node]!;
    b.pass[i] = this.pass[node]!;
    b.released[i] = this.released[node]!;
    if (pass[i]! >= 0) this.pass[node] = pass[i]!;
    if (dependencies[i]! >= 0) this.dependencies[node] = dependencies[i]!;
    switch (kind[i]) {
      case Kind.ready:
        this.setStatus(node, Status.ready);
        break;
      case Kind.started:
        this.setStatus(node, Status.running);
        break;
      case Kind.finished:
        this.setStatus(node, Status.done);
        this.arrived[node] = 0;
        break;
      case Kind.failed:
        this.setStatus(node, Status.failed);
        break;
      case Kind.arrived:
        if (slot[i]! >= 0) this.arrived[node]!++; // −1: the producer returned None, only the count went down
        if (this.status[node] !== Status.ready && this.status[node] !== Status.running) this.setStatus(node, Status.waiting);
        break;
      case Kind.released:
        this.released[node] = 1;
        break;
      case Kind.forward:
        this.setStatus(node, Status.idle);
        this.released[node] = 0;
        break;
    }
  }

  private back(i: number): void {
    const node = this.recording.events.node[i]!;
    if (node < 0) return;
    const b = this.before;
    this.setStatus(node, b.status[i]!);
    this.dependencies[node] = b.dependencies[i]!;
    this.arrived[node] = b.arrived[i]!;
    this.pass[node] = b.pass[i]!;
    this.released[node] = b.released[i]!;
  }

  /** The ready queue in the engine's order: leaves, which have no sequence number, then the newest operation first. */
  readyInOrder(): number[] {
    const { sequence } = this.recording.nodes;
    const depth = (node: number): number => (this.pass[node]! < 0 ? 0 : this.recording.passes.depth[this.pass[node]!]!);
    const order = (node: number): number => (sequence[node]! >= 0 ? sequence[node]! : Infinity);
    return this.ready.members.slice().sort((a, b) => depth(b) - depth(a) || (order(a) === order(b) ? a - b : order(b) - order(a)));
  }

  private isRoot(node: number, pass: number): boolean {
    const roots = (pass >= 0 ? this.recording.passes.roots[pass] : undefined) as number[] | undefined; // a damaged file may name no pass
    return this.recording.nodes.outputs[node]!.length === 1 && roots?.[0] === node;
  }

  /** Which inputs of a node's buffer have a gradient now, and how many were summed in each. */
  buffer(node: number): Map<number, number> {
    const filled = new Map<number, number>();
    const { kind, slot, pass } = this.recording.events;
    for (const i of this.recording.eventsOf(node)) {
      if (i >= this.at) break;
      if (kind[i] === Kind.arrived && slot[i]! >= 0) filled.set(slot[i]!, (filled.get(slot[i]!) ?? 0) + 1);
      else if (kind[i] === Kind.ready && this.isRoot(node, pass[i]!))
        filled.set(0, 1); // the gradient that the pass began with
      else if (kind[i] === Kind.finished) filled.clear();
    }
    return filled;
  }
}
