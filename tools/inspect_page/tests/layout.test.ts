// The layout: boxes in layers do not overlap, gradients flow downward, groups contain what is in them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { groupNodes } from "../src/groups.ts";
import { drawInLayers, keepApart, type Link } from "../src/layers.ts";
import { layOut, type Box } from "../src/layout.ts";
import { DIAMOND, random, recorded } from "./recordings.ts";

const measure = (text: string): number => 7 * text.length;

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function checkBoxes(box: Box): void {
  box.children.forEach((a, i) => {
    assert.ok(
      a.x >= box.x - 1e-6 && a.x + a.w <= box.x + box.w + 1e-6 && a.y >= box.y - 1e-6 && a.y + a.h <= box.y + box.h + 1e-6,
      "a box is inside its group",
    );
    for (const b of box.children.slice(i + 1)) assert.ok(!overlap(a, b), "boxes do not overlap");
    checkBoxes(a);
  });
}

function randomGraph(count: number, seed: number): [number, number][] {
  const next = random(seed);
  const edges: [number, number][] = [];
  for (let b = 1; b < count; b++) for (let k = 0; k < 1 + Math.floor(next() * 3); k++) edges.push([Math.floor(next() * b), b]);
  return edges;
}

test("positions are kept apart and move as little as possible", () => {
  assert.deepEqual([...keepApart(Float64Array.of(0, 0, 10), Float64Array.of(1, 1, 1), Float64Array.of(4, 4))], [-2, 2, 10]);
});

test("the crossing of two edges is removed", () => {
  const items = Array.from({ length: 4 }, () => ({ w: 10, h: 10 }));
  const drawing = drawInLayers(items, [
    { from: 0, to: 3, fromX: 5, toX: 5 },
    { from: 1, to: 2, fromX: 5, toX: 5 },
  ]);
  assert.equal(drawing.x[0]! < drawing.x[1]!, drawing.x[3]! < drawing.x[2]!);
});

test("a circle of edges does not stop the drawing", () => {
  const links: Link[] = [
    [0, 1],
    [1, 2],
    [2, 0],
  ].map(([from, to]) => ({ from: from!, to: to!, fromX: 5, toX: 5 }));
  const drawing = drawInLayers(
    Array.from({ length: 3 }, () => ({ w: 10, h: 10 })),
    links,
  );
  assert.equal(new Set(drawing.y).size, 3);
});

test("gradients flow downward", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const edges = randomGraph(40, seed);
    const recording = recorded(40, edges);
    const scene = layOut(recording, groupNodes(recording, 0), new Set(), measure);
    for (const [a, b] of edges) assert.ok(scene.boxOfNode[a]!.y + scene.boxOfNode[a]!.h < scene.boxOfNode[b]!.y);
    checkBoxes(scene.root);
  }
});

test("open and closed modules contain their nodes, and boxes never overlap", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const next = random(100 + seed);
    const edges = randomGraph(120, seed);
    const modules = Array.from({ length: 120 }, (_, n) => ["", "a", "a.x", "a.y", "b", "b.z.q"][Math.floor((n / 120) * 4 + next() * 2)]);
    const recording = recorded(120, edges, { modules });
    const grouping = groupNodes(recording, 0);
    for (const keys of [[], ["a"], ["a", "a.x", "b"], grouping.groups.map((g) => g.key)]) {
      const scene = layOut(recording, grouping, new Set(keys), measure);
      checkBoxes(scene.root);
      assert.equal(grouping.nodes.length, 120);
      for (const node of grouping.nodes) assert.ok(scene.boxOfNode[node]);
    }
  }
});

test("every edge between two visible boxes is drawn, from one to the other", () => {
  const recording = recorded(5, [...DIAMOND, [3, 4]], { modules: [undefined, "m", "m", undefined, undefined] });
  const scene = layOut(recording, groupNodes(recording, 0), new Set(["m"]), measure);
  const outer = scene.root.lines,
    inner = scene.boxOfNode[1]!.parent!.lines;
  assert.equal(inner.filter((l) => l.from === null).length, 2, "two lines enter the module");
  assert.equal(inner.filter((l) => l.to === null).length, 2, "two lines leave it");
  for (const line of outer) assert.ok(line.points.length >= 4);
});

test("a long loop is divided into runs of bounded size", () => {
  const edges = Array.from({ length: 20000 }, (_, n): [number, number] => [n, n + 1]);
  const recording = recorded(20001, edges);
  const grouping = groupNodes(recording, 0);
  for (const group of grouping.groups) assert.ok(group.nodes.length + group.groups.length <= 48);
  assert.equal(grouping.groups[0]!.count, 20001);
  assert.deepEqual([...grouping.nodes.slice(0, 3)], [0, 1, 2]);
});

test("a module that is called several times has a group for each call", () => {
  // The model calls its cell twice; each call calls the layer inside it. Nodes 0 to 7 form a chain, 8 is a parameter.
  const edges = Array.from({ length: 8 }, (_, n): [number, number] => [n, n + 1]);
  const calls: [string, number][] = [["", -1], ["cell", 0], ["cell.inner", 1], ["cell", 0], ["cell.inner", 3]]; // prettier-ignore
  const recording = recorded(9, edges, { calls, call: [3, 3, 4, 4, 1, 1, 2, 2] });
  const { groups, groupOf } = groupNodes(recording, 0);
  const key = (node: number): string => groups[groupOf[node]!]!.key;
  assert.deepEqual([0, 2, 4, 6].map(key), ["cell#2", "cell#2.inner", "cell#1", "cell#1.inner"]);
  assert.deepEqual(
    groups.map((g) => `${g.label} ${g.count}`),
    ["(whole pass) 9", "cell 9", "Call 1 5", "inner 3", "Call 2 4", "inner 2"],
  );
});

test("a module that is called once is one group, and a container is drawn around what it contains", () => {
  const edges = Array.from({ length: 4 }, (_, n): [number, number] => [n, n + 1]);
  const recording = recorded(5, edges, { calls: [["", -1], ["layers.0", 0], ["layers.1", 0]], call: [2, 2, 1, 1] }); // prettier-ignore
  const { groups } = groupNodes(recording, 0);
  assert.deepEqual(
    groups.map((g) => g.key),
    ["", "layers", "layers.0", "layers.1"],
  );
});
