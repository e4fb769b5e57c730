// The replay gives the engine's state after any event, in both directions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Kind } from "../src/recording.ts";
import { Replay, Status } from "../src/replay.ts";
import { DIAMOND, random, recorded } from "./recordings.ts";

function snapshot(replay: Replay): unknown {
  const sorted = (list: number[]): number[] => list.slice().sort((a, b) => a - b);
  return {
    status: [...replay.status],
    dependencies: [...replay.dependencies],
    arrived: [...replay.arrived],
    released: [...replay.released],
    ready: sorted(replay.ready.members),
    waiting: sorted(replay.waiting.members),
    running: sorted(replay.running.members),
  };
}

test("a node with two producers waits until both gradients have arrived", () => {
  const recording = recorded(4, DIAMOND);
  const replay = new Replay(recording);
  const arrivals = [...recording.events.kind].flatMap((k, i) => (k === Kind.arrived && recording.events.node[i] === 3 ? [i] : []));
  replay.seek(arrivals[0]!);
  assert.equal(replay.status[3], Status.waiting);
  assert.equal(replay.dependencies[3], 1);
  assert.deepEqual([...replay.buffer(3)], [[0, 1]]);
  replay.seek(arrivals[1]!);
  assert.deepEqual([...replay.buffer(3)], [[0, 2]]);
  replay.seek(arrivals[1]! + 1);
  assert.equal(replay.status[3], Status.ready);
});

test("jumping anywhere gives the state of stepping there", () => {
  const recording = recorded(6, [
    [0, 1],
    [0, 2],
    [1, 3],
    [2, 3],
    [3, 4],
    [1, 5],
    [3, 5],
  ]);
  const stepped = new Replay(recording);
  const states = [snapshot(stepped)];
  for (let i = 0; i < recording.events.length; i++) {
    stepped.seek(i);
    states.push(snapshot(stepped));
  }
  const next = random(7);
  const jumping = new Replay(recording);
  for (let k = 0; k < 200; k++) {
    const event = Math.floor(next() * (recording.events.length + 1)) - 1;
    jumping.seek(event);
    assert.deepEqual(snapshot(jumping), states[event + 1]);
  }
});

test("the ready queue runs leaves first and then the newest operation", () => {
  const recording = recorded(5, [
    [0, 1],
    [0, 2],
    [0, 3],
    [1, 4],
  ]);
  const replay = new Replay(recording);
  let longest: number[] = [];
  for (let i = 0; i < recording.events.length; i++) {
    replay.seek(i);
    if (replay.ready.members.length > longest.length) longest = replay.readyInOrder();
  }
  assert.deepEqual(longest, [2, 3, 1]);
});

test("the buffer of the root has the gradient that the pass began with", () => {
  const recording = recorded(4, DIAMOND);
  const replay = new Replay(recording);
  const at = (kind: number): number => recording.eventsOf(0).find((i) => recording.events.kind[i] === kind)!;
  replay.seek(at(Kind.ready) - 1);
  assert.equal(replay.buffer(0).size, 0);
  replay.seek(at(Kind.ready));
  assert.deepEqual([...replay.buffer(0)], [[0, 1]]);
  replay.seek(at(Kind.finished));
  assert.equal(replay.buffer(0).size, 0);
});
