// Whatever a file contains, it is either refused with a DamagedRecording or shown: no other error, and no endless loop.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DamagedRecording } from "../src/columns.ts";
import { compare } from "../src/compare.ts";
import { describe } from "../src/describe.ts";
import { groupNodes } from "../src/groups.ts";
import { assess } from "../src/health.ts";
import { layOut } from "../src/layout.ts";
import { holders, memoryCurve } from "../src/memory_math.ts";
import { Recording } from "../src/recording.ts";
import { Replay } from "../src/replay.ts";
import { durations } from "../src/tallies.ts";
import { tourSteps } from "../src/tour_steps.ts";
import { DIAMOND, random, recorded, recordingOf } from "./recordings.ts";

const JUNK: unknown[] = [
  null,
  -1,
  -2,
  0,
  3,
  1e18,
  0.5,
  "nan",
  "text",
  true,
  [],
  {},
  [[]],
  [[1, 2]],
  [["float32", [2]]],
  [["a", "b", [2], 8, 0]],
  { edges: [1], counts: "x" },
];

/** Every place in a tree of objects and lists. */
function places(value: unknown, out: { parent: Record<string, unknown>; key: string }[] = []): { parent: Record<string, unknown>; key: string }[] {
  if (typeof value === "object" && value !== null) {
    for (const key of Object.keys(value)) {
      out.push({ parent: value as Record<string, unknown>, key });
      places((value as Record<string, unknown>)[key], out);
    }
  }
  return out;
}

/** Everything that the panels compute. */
function useAll(recording: Recording): void {
  const replay = new Replay(recording);
  const whole = recorded(4, DIAMOND);
  for (let i = 0; i < recording.events.length; i++) {
    replay.seek(i);
    describe(recording, i);
    replay.readyInOrder();
  }
  holders(recording, replay);
  memoryCurve(recording);
  durations(recording);
  assess(recording);
  tourSteps(recording);
  compare(recording, whole);
  compare(whole, recording);
  for (const pass of [-1, ...Array.from({ length: recording.passes.rows }, (_, p) => recording.topPass(p))]) {
    const grouping = groupNodes(recording, pass);
    layOut(recording, grouping, new Set(grouping.groups.map((g) => g.key)), (text) => text.length);
  }
  for (let n = 0; n < recording.nodes.rows; n++) {
    recording.outputs(n);
    recording.saved(n);
    recording.stack(n);
    recording.place(n);
    replay.buffer(n);
    if (recording.nodes.operator[n]! >= 0) recording.formulas(recording.nodes.operator[n]!);
    for (const row of recording.valuesOf(n)) recording.histogram(row);
  }
}

test("a recording with any entry replaced is refused or shown", () => {
  const next = random(2026);
  let refused = 0,
    shown = 0;
  for (let round = 0; round < 3000; round++) {
    const data = recordingOf(5, [...DIAMOND, [3, 4]], { modules: [undefined, "m", "m.n", undefined, undefined], norms: { 2: null } });
    const all = places(data);
    for (let k = 0; k < 1 + Math.floor(next() * 2); k++) {
      const { parent, key } = all[Math.floor(next() * all.length)]!;
      parent[key] = structuredClone(JUNK[Math.floor(next() * JUNK.length)]);
    }
    try {
      useAll(new Recording(data));
      shown++;
    } catch (error) {
      assert.ok(error instanceof DamagedRecording, (error as Error).stack);
      refused++;
    }
  }
  assert.ok(refused > 300 && shown > 300, `${refused} refused, ${shown} shown`);
});
