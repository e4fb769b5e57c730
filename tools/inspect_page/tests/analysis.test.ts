// What the panels compute: health of gradients, comparison, durations, memory, search, the tour.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DamagedRecording, Table } from "../src/columns.ts";
import { compare } from "../src/compare.ts";
import { assess, Health } from "../src/health.ts";
import { holders, memoryCurve } from "../src/memory_math.ts";
import { moduleBars } from "../src/module_bars.ts";
import { Recording } from "../src/recording.ts";
import { Replay } from "../src/replay.ts";
import { search } from "../src/search.ts";
import { durations } from "../src/tallies.ts";
import { tourSteps } from "../src/tour_steps.ts";
import { DIAMOND, recorded, recordingOf } from "./recordings.ts";

const FAN: [number, number][] = [1, 2, 3, 4, 5, 6].map((n) => [0, n]);

test("a gradient far above or below the other parameters' is exploding or vanishing", () => {
  const { ofNode, counts } = assess(recorded(7, FAN, { norms: { 1: 1e5, 2: 1e-6, 3: 0 } }));
  assert.equal(ofNode[1], Health.exploding);
  assert.equal(ofNode[2], Health.vanishing);
  assert.equal(ofNode[3], Health.zero);
  assert.equal(counts[Health.fine], 4);
});

test("the first NaN is the one that happened first", () => {
  const recording = recorded(4, DIAMOND, { norms: { 3: null, 2: null } });
  assert.equal(recording.values.node[assess(recording).firstBad], 2);
});

test("two equal recordings do not part", () => {
  const result = compare(recorded(4, DIAMOND, { norms: {} }), recorded(4, DIAMOND, { norms: {} }));
  assert.equal(result.parted, null);
  assert.equal(result.value, null);
  assert.equal(result.pairs.length, 4);
});

test("the first node of another name, order or value is found", () => {
  const a = recorded(4, DIAMOND, { norms: {}, names: { 1: "ExpBackward0", 2: "SinBackward0" } });
  const renamed = compare(a, recorded(4, DIAMOND, { norms: {}, names: { 1: "ExpBackward0", 2: "CosBackward0" } }));
  assert.equal(renamed.parted?.kind, "structure");
  assert.equal(renamed.parted?.at, 2);
  const swapped = compare(a, recorded(4, DIAMOND, { norms: {}, names: { 2: "ExpBackward0", 1: "SinBackward0" } }));
  assert.equal(swapped.parted?.kind, "order");
  const changed = compare(a, recorded(4, DIAMOND, { norms: { 2: 1.001 }, names: { 1: "ExpBackward0", 2: "SinBackward0" } }));
  assert.equal(changed.value?.a, 2);
  assert.equal(changed.value?.what, "norm");
});

test("each node's time is that between its start and its end", () => {
  const { total, runs, slices } = durations(recorded(4, DIAMOND));
  assert.deepEqual([...total], [10, 10, 10, 10]);
  assert.deepEqual([...runs], [1, 1, 1, 1]);
  assert.equal(slices.length, 4);
});

test("memory is held by the lines whose tensors are alive", () => {
  const recording = recorded(4, DIAMOND);
  const replay = new Replay(recording);
  replay.seek(1);
  const held = holders(recording, replay);
  assert.equal(held.saved, 48);
  assert.deepEqual(
    held.lines.map((l) => l.label),
    ["test.py:1", "test.py:2", "test.py:3"],
  );
  assert.equal(memoryCurve(recording).recorded, false);
});

test("all words of a search must occur, in any order", () => {
  const recording = recorded(4, DIAMOND, { modules: [undefined, "net.a", "net.b", undefined] });
  assert.deepEqual(
    search(recording, [], "b mul", 10).found.map((f) => f.node),
    [0, 1, 2],
  );
  assert.deepEqual(
    search(recording, [], "net.b mul", 10).found.map((f) => f.node),
    [2],
  );
  assert.deepEqual(
    search(recording, [], "test.py:4", 10).found.map((f) => f.node),
    [3],
  );
  assert.equal(search(recording, [], "mulback", 2).total, 3);
});

test("the tour goes forward through events that exist", () => {
  const recording = recorded(4, DIAMOND);
  const steps = tourSteps(recording);
  assert.ok(steps.some((s) => s.title === "A partly filled buffer" && s.node === 3));
  for (const step of steps) assert.ok(step.event >= 0 && step.event < recording.events.length && step.text.length > 0);
  steps.slice(1).forEach((step, i) => assert.ok(step.event >= steps[i]!.event, `${step.title} comes after ${steps[i]!.title}`));
});

test("wrong indices, lengths and versions are refused with the place of the mistake", () => {
  const wrong = (change: (data: Record<string, any>) => void, message: RegExp): void => {
    const data = recordingOf(4, DIAMOND) as Record<string, any>;
    change(data);
    assert.throws(
      () => new Recording(data),
      (error: Error) => error instanceof DamagedRecording && message.test(error.message),
    );
  };
  wrong((d) => {
    d.edges.to[1] = 4;
  }, /edges\.to\[1\] is 4/);
  wrong((d) => {
    d.events.pass[0] = 1.5;
  }, /events\.pass\[0\] is 1\.5/);
  wrong((d) => {
    d.nodes.kind.pop();
  }, /nodes\.kind has 3 entries/);
  wrong((d) => {
    d.version = 2;
  }, /version 2/);
  wrong((d) => {
    d.strings[0] = 5;
  }, /strings\[0\]/);
  wrong((d) => {
    d.passes.roots[0] = [17];
  }, /does not exist/);
});

test("events and values of a live pass are appended", () => {
  const data = recordingOf(4, DIAMOND, { norms: {} }) as Record<string, any>;
  const whole = new Recording(structuredClone(data));
  const cut = (from: number, to: number): Record<string, unknown[]> =>
    Object.fromEntries(Object.entries(data.events as Record<string, unknown[]>).map(([k, v]) => [k, v.slice(from, to)]));
  const start = { ...data, events: cut(0, 5), values: {} };
  const grown = new Recording(start);
  const replay = new Replay(grown);
  replay.seek(4);
  grown.append(new Table({ events: cut(5, 1000) }, "events", "kind"), new Table({ values: data.values }, "values", "event"));
  replay.seek(1000);
  assert.equal(grown.events.length, whole.events.length);
  assert.deepEqual([...grown.events.node.subarray(0, grown.events.length)], [...whole.events.node]);
  assert.equal(grown.values.rows, whole.values.rows);
  assert.equal(replay.status[3], 4);
});

test("consecutive nodes of a module are one bar of the timeline, with a row for each level", () => {
  const chain: [number, number][] = [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 4],
  ];
  const recording = recorded(5, chain, { modules: [undefined, "layers.1", "layers.1", "layers.0", "layers.1"] });
  const { slices } = durations(recording);
  const rows = moduleBars(recording)(slices).map((row) => row.map((bar) => [recording.modulePath(bar.module), bar.start, bar.end]));
  assert.deepEqual(rows, [
    [["layers", slices[1]!.start, slices[4]!.end]],
    [
      ["layers.1", slices[1]!.start, slices[2]!.end],
      ["layers.0", slices[3]!.start, slices[3]!.end],
      ["layers.1", slices[4]!.start, slices[4]!.end],
    ],
  ]);
});

test("a module that runs in two passes has a bar for each", () => {
  const data = recordingOf(
    3,
    [
      [0, 1],
      [1, 2],
    ],
    { modules: ["m", "m", "m"] },
  ) as Record<string, any>;
  for (const column of Object.values(data.passes) as unknown[][]) column.push(column[0]);
  data.events.pass = data.events.pass.map((pass: number, i: number) => (data.events.node[i] === 2 ? 1 : pass));
  const recording = new Recording(data);
  const rows = moduleBars(recording)(durations(recording).slices);
  assert.deepEqual(
    rows.map((row) => row.length),
    [2],
  );
});

test("recordings that differ at their first node have no gradients to compare", () => {
  const a = recorded(4, DIAMOND, { norms: {}, names: { 0: "SumBackward0" } }),
    b = recorded(4, DIAMOND, { norms: {}, names: { 0: "MeanBackward0" } });
  assert.equal(compare(a, b).compared, 0);
  assert.equal(compare(a, a).compared, 4);
});
