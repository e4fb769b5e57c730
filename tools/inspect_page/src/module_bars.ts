// module_bars.ts: when each module ran, for the timeline: consecutive nodes of one module in one pass make one bar, a row for each level. Pure.
import type { Recording } from "./recording.ts";
import type { Slice } from "./tallies.ts";

export const MOST_LEVELS = 4;

export interface Bar {
  start: number;
  end: number;
  module: number; // row of modules
  event: number; // where its first node started
}

/** Modules from the outermost one inward, for each module; without the root. */
function chains(recording: Recording): number[][] {
  const { parent, rows } = recording.modules;
  const known: number[][] = [[]];
  for (let module = 1; module < rows; module++) {
    const outer = known[parent[module]!] ?? []; // a parent comes before its children
    known.push(outer.length < MOST_LEVELS ? [...outer, module] : outer);
  }
  return known;
}

/** The module of each node; that of its parameter for a leaf. */
function moduleOfNodes(recording: Recording): Int32Array {
  const { nodes, params } = recording;
  const found = Int32Array.from({ length: nodes.rows }, (_, node) => nodes.module[node]!);
  for (let i = 0; i < params.rows; i++) if (params.node[i]! >= 0 && found[params.node[i]!]! < 0) found[params.node[i]!] = params.module[i]!;
  return found;
}

/** The rows of bars above some slices of a thread, the outermost modules first. Slices are in order of time. */
export function moduleBars(recording: Recording): (slices: Slice[]) => Bar[][] {
  const chain = chains(recording);
  const module = moduleOfNodes(recording);
  return (slices) => {
    const levels: Bar[][] = [];
    let open: Bar[] = [],
      pass = -1;
    for (const slice of slices) {
      const inside = chain[module[slice.node]!] ?? [];
      if (recording.events.pass[slice.event] !== pass) open = [];
      pass = recording.events.pass[slice.event]!;
      let same = 0;
      while (same < inside.length && same < open.length && open[same]!.module === inside[same]) open[same++]!.end = slice.end;
      open = open.slice(0, same);
      for (let level = same; level < inside.length; level++) {
        const bar = { start: slice.start, end: slice.end, module: inside[level]!, event: slice.event };
        open.push(bar);
        (levels[level] ??= []).push(bar);
      }
    }
    return levels;
  };
}
