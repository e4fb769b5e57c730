// tour_steps.ts: the steps of the guided tour, found in the recording: each stands at a real event and speaks of the nodes it names. No drawing.
import { aGradient } from "./describe.ts";
import { count } from "./format.ts";
import { Kind, NodeKind, type Recording } from "./recording.ts";

export interface TourStep {
  event: number;
  node: number;
  title: string;
  text: string[];
}

class Finder {
  constructor(
    private readonly recording: Recording,
    private readonly from: number,
    private readonly to: number,
  ) {}

  first(test: (i: number) => boolean, after = this.from): number {
    for (let i = Math.max(after, this.from); i <= this.to; i++) if (test(i)) return i;
    return -1;
  }

  kind(kind: number, after = this.from): number {
    return this.first((i) => this.recording.events.kind[i] === kind, after);
  }
}

export function tourSteps(recording: Recording): TourStep[] {
  const { events, nodes, passes } = recording;
  const { kind, node, other, dependencies, slot } = events;
  const begin = kind.subarray(0, events.length).indexOf(Kind.passStarted);
  if (begin < 0) return [];
  const pass = events.pass[begin]!;
  let end = events.length - 1;
  for (let i = begin; i < events.length; i++)
    if (kind[i] === Kind.passFinished && events.pass[i] === pass) {
      end = i;
      break;
    }
  const find = new Finder(recording, begin, end);
  const steps: TourStep[] = [];
  const add = (event: number, about: number, title: string, ...text: string[]): void => {
    if (event >= 0) steps.push({ event, node: about, title, text: text.filter(Boolean) });
  };
  const name = (n: number): string => recording.title(n);
  const formula = (n: number): string => {
    const grads = nodes.operator[n]! >= 0 ? recording.formulas(nodes.operator[n]!) : [];
    return grads.length > 0
      ? `It is the backward of ${recording.text(recording.operators.name[nodes.operator[n]!]!)}: the gradient of ${grads[0]![0]} is ${grads[0]![1]}.`
      : "";
  };

  const roots = (passes.roots[pass] ?? []) as number[]; // a damaged file may start a pass that is not there
  const root = roots[0] ?? -1;
  const edges = recording.edges.rows;
  const leaves = nodes.kind.reduce((sum, k) => sum + (k === NodeKind.accumulate ? 1 : 0), 0);
  add(
    begin,
    -1,
    "loss.backward() is called",
    "During the forward pass every operation left a node behind. A node knows how to turn the gradient of its result into gradients of its inputs, and which nodes made those inputs.",
    `This recording has ${count(nodes.rows)} nodes and ${count(edges)} edges. The drawing shows them with the loss on top: gradients will flow downward, to ${leaves === 1 ? "one leaf" : `${count(leaves)} leaves`}.`,
  );

  const ready = find.kind(Kind.ready);
  if (root >= 0) {
    add(
      ready >= 0 ? ready : begin,
      root,
      "The root",
      `The node of the loss is ${name(root)}${recording.place(root) ? `, made at ${recording.place(root)}` : ""}. It is the root: the pass begins there, with the gradient of the loss with respect to itself, which is 1.`,
      "Nothing comes before it, so it goes into the ready queue at once.",
    );
  }
  let counted = -1;
  for (let n = 0; n < nodes.rows && counted < 0; n++) if (recording.into.of(n).length > 1 && recording.eventsOf(n).length > 0) counted = n;
  const many = counted >= 0 ? counted : root >= 0 && recording.out.of(root).length > 0 ? recording.edges.to[recording.out.of(root)[0]!]! : root;
  if (many >= 0) {
    const needs = recording.into.of(many).length;
    add(
      ready >= 0 ? ready : begin,
      many,
      "Dependencies",
      "Before anything runs, the engine walks the graph once from the root and counts, for every node, how many gradients it will get.",
      `${name(many)} has ${needs === 1 ? "one edge into it, so it waits for one gradient" : `${count(needs)} edges into it, so it waits for ${count(needs)} gradients. Its result was used ${count(needs)} times in the forward pass, and the chain rule adds the gradients of all uses`}.`,
    );
  }
  const started = find.kind(Kind.started);
  if (started >= 0) {
    const n = node[started]!;
    const output = recording.outputs(n)[0];
    add(
      started,
      n,
      "The first node runs",
      `${name(n)} is taken from the ready queue and runs. It gets ${output ? aGradient(output.shape).replace(/^A/, "a") : "its gradient"} and computes one gradient for each of its inputs.`,
      formula(n),
    );
  }
  const arrived = find.kind(Kind.arrived, started);
  if (arrived >= 0) {
    const n = node[arrived]!;
    add(
      arrived,
      n,
      "A gradient arrives",
      `${other[arrived]! >= 0 ? name(other[arrived]!) : "The node"} is done. Its gradient is put into the input buffer of ${name(n)}${slot[arrived]! >= 0 ? `, at input ${slot[arrived]}` : ""}.`,
      dependencies[arrived] === 0
        ? "That was all it waited for, so it becomes ready."
        : `It still waits for ${count(dependencies[arrived]!)} more. The list on the left shows it under Waiting.`,
    );
  }
  const partial = find.first((i) => kind[i] === Kind.arrived && dependencies[i]! > 0, arrived + 1);
  if (partial >= 0 && partial !== arrived) {
    const n = node[partial]!;
    add(
      partial,
      n,
      "A partly filled buffer",
      `${name(n)} got a gradient from ${other[partial]! >= 0 ? name(other[partial]!) : "above"}, but ${count(dependencies[partial]!)} ${dependencies[partial] === 1 ? "is" : "are"} still missing. The gradient waits in the buffer; when the next one comes for the same input, the two are added.`,
    );
    const complete = find.first((i) => kind[i] === Kind.arrived && node[i] === n && dependencies[i] === 0, partial + 1);
    if (complete >= 0)
      add(complete, n, "The last one arrives", `Now ${name(n)} has everything. Its count is zero, and the engine moves it to the ready queue.`);
  }
  const queue = find.first((i) => kind[i] === Kind.ready && other[i]! >= 2);
  if (queue >= 0)
    add(
      queue,
      node[queue]!,
      "The ready queue",
      `${count(other[queue]!)} nodes are ready at this moment. The engine takes a leaf first, and else the node whose operation came last in the forward pass, because its result was used last. That keeps few gradients alive at a time.`,
      `In the list on the left, the next one to run is on top.`,
    );
  const hook = find.first((i) => kind[i]! >= Kind.tensorHook && kind[i]! <= Kind.postHook);
  if (hook >= 0)
    add(
      hook,
      node[hook]!,
      "A hook runs",
      `A function that the program registered runs here, at ${name(node[hook]!)}. ${kind[hook] === Kind.postHook ? "A post-hook sees the gradients that the node made" : kind[hook] === Kind.retainsGradHook ? "retain_grad() stores the gradient of a tensor that is not a leaf" : "It sees the gradient before the node does, and may replace it"}.`,
    );
  const released = find.kind(Kind.released);
  if (released >= 0) {
    const saved = recording.saved(node[released]!);
    add(
      released,
      node[released]!,
      "Memory is given back",
      `${name(node[released]!)} kept ${saved.length === 1 ? `the tensor "${saved[0]!.name}"` : `${count(saved.length)} tensors`} from the forward pass. Its work is done, so ${saved.length === 1 ? "it is" : "they are"} released. With retain_graph=True ${saved.length === 1 ? "it" : "they"} would stay, and a second backward() could run.`,
    );
  }
  const nested = find.first((i) => kind[i] === Kind.passStarted && i > begin);
  if (nested >= 0)
    add(
      nested,
      -1,
      "A pass inside the pass",
      "A node called backward() itself: this happens in checkpointing. The inner pass runs to its end before the outer one goes on.",
    );
  const failed = find.kind(Kind.failed);
  if (failed >= 0)
    add(failed, node[failed]!, "An error", `${name(node[failed]!)} failed, and the pass ends here: ${recording.text(passes.error[pass]!)}`);
  const accumulated = find.kind(Kind.accumulated);
  if (accumulated >= 0) {
    const n = node[accumulated]!;
    const leaf = recording.text(nodes.leaf[n]!);
    add(
      accumulated,
      n,
      "The gradient reaches .grad",
      `This is a leaf: ${leaf ? `the parameter ${leaf}` : "a tensor that the program made"}. Its node does not compute anything. It adds the gradient to ${leaf ? `${leaf}.grad` : "its .grad"}, where an optimizer will read it.`,
      "If .grad had a value before, the two are added: this is why a training loop calls zero_grad().",
    );
  }
  const captured = find.kind(Kind.captured);
  if (captured >= 0)
    add(
      captured,
      node[captured]!,
      "A gradient is captured",
      `This pass was started by grad(), so the gradient is not added to .grad. It is kept and returned to the caller.`,
    );
  const runs = recording.events.kind.subarray(begin, end + 1).reduce((sum, k) => sum + (k === Kind.started ? 1 : 0), 0);
  if (kind[end] === Kind.passFinished && failed < 0)
    add(
      end,
      -1,
      "The pass is over",
      `The queue is empty and nothing waits. ${count(runs)} nodes ran. backward() returns, and the gradients are in .grad.`,
      "Use the slider, or the arrow keys, to go through the pass yourself.",
    );
  return steps.sort((a, b) => a.event - b.event); // the tour never goes back in time
}
