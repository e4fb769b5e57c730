// describe.ts: one sentence for each event, in the words of the engine.
import { count, shape } from "./format.ts";
import { Kind, type Recording } from "./recording.ts";

export const EVENT_NAMES = [
  "pass started",
  "pass finished",
  "ready",
  "started",
  "tensor hook",
  "retain_grad",
  "pre-hook",
  "post-hook",
  "finished",
  "gradient arrived",
  "accumulated",
  "captured",
  "saved tensors released",
  "failed",
  "forward",
];

/** What a pass is called: "backward pass", "backward pass 2", "grad pass inside backward pass 2". */
export function passName(recording: Recording, pass: number): string {
  const { kind, parent, rows } = recording.passes;
  const name = `${recording.text(kind[pass]!) || "backward"} pass`;
  if (parent[pass]! >= 0) return `${name} inside ${passName(recording, parent[pass]!)}`;
  let tops = 0,
    mine = 0;
  for (let p = 0; p < rows; p++)
    if (parent[p]! < 0) {
      tops++;
      if (p <= pass) mine = tops;
    }
  return tops > 1 ? `${name} ${mine}` : name;
}

function hookName(recording: Recording, node: number, number: number, kind: number): string {
  const kinds: Record<number, string> = { 4: "tensor", 5: "retains_grad", 6: "pre", 7: "post" };
  const rows: number[] = [];
  for (let i = 0; i < recording.hooks.rows; i++)
    if (recording.hooks.node[i] === node && String(recording.hooks.kind[i]).startsWith(kinds[kind]!.slice(0, 3))) rows.push(i);
  const row = rows[number] ?? rows[0];
  return row === undefined ? "" : recording.text(recording.hooks.name[row]!);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** "A gradient of shape 2×3"; its shape may be unknown. */
export function aGradient(sizes?: number[]): string {
  return !sizes ? "A gradient" : sizes.length === 0 ? "A scalar gradient" : `A gradient of shape ${shape(sizes)}`;
}

export function describe(recording: Recording, i: number): string {
  if (i < 0) return "Before the first event.";
  const { kind, node: nodes, other, slot, dependencies, pass } = recording.events;
  const node = nodes[i]!;
  const title = node >= 0 ? recording.title(node) : "";
  const who = node >= 0 && recording.nodes.leaf[node]! >= 0 ? `AccumulateGrad of ${recording.text(recording.nodes.leaf[node]!)}` : title;
  const thePass = pass[i]! >= 0 ? passName(recording, pass[i]!) : "pass";
  const hook = (what: string): string => {
    const name = hookName(recording, node, other[i]!, kind[i]!);
    return `${who}: ${what}${name ? ` ${name}` : ""} ran.`;
  };
  switch (kind[i]) {
    case Kind.passStarted:
      return `${capital(thePass)} started.`;
    case Kind.passFinished: {
      const error = pass[i]! >= 0 ? recording.text(recording.passes.error[pass[i]!]!) : "";
      return error ? `${capital(thePass)} failed: ${error}` : `${capital(thePass)} finished.`;
    }
    case Kind.ready:
      return `${who} is ready: nothing is missing any more.${other[i]! >= 0 ? ` The ready queue holds ${count(other[i]!)}.` : ""}`;
    case Kind.started:
      return `${who} started.`;
    case Kind.tensorHook:
      return hook("tensor hook");
    case Kind.retainsGradHook:
      return `${who}: its gradient was stored for retain_grad().`;
    case Kind.preHook:
      return hook("pre-hook");
    case Kind.postHook:
      return hook("post-hook");
    case Kind.finished:
      return `${who} finished.`;
    case Kind.arrived: {
      const from = other[i]! >= 0 ? ` from ${recording.title(other[i]!)}` : "";
      const left = dependencies[i]!;
      const rest = left === 0 ? "It waits for nothing more." : left > 0 ? `It still waits for ${count(left)}.` : "";
      if (slot[i]! < 0) return `No gradient came${from} to ${who}. ${rest}`.trim();
      const output = recording.outputs(node)[slot[i]!];
      return `${aGradient(output?.shape)} arrived${from} at input ${slot[i]} of ${who}. ${rest}`.trim();
    }
    case Kind.accumulated:
      return `The gradient was added to ${recording.nodes.leaf[node]! >= 0 ? title : `the .grad of ${title}`}.`;
    case Kind.captured:
      return `The gradient at input ${slot[i]} of ${who} was captured, to be returned by grad().`;
    case Kind.released:
      return `${who} released its saved tensors.`;
    case Kind.failed:
      return `${who} failed${pass[i]! >= 0 && recording.passes.error[pass[i]!]! >= 0 ? `: ${recording.text(recording.passes.error[pass[i]!]!)}` : "."}`;
    case Kind.forward:
      return `Forward: ${who} was recorded${recording.place(node) ? ` at ${recording.place(node)}` : ""}.`;
    default:
      return "";
  }
}
