// app.ts: what the page shows now (recording, event, selection, open groups, tab) and who wants to know when it changes.
// Holds no elements; the panels listen and draw.
import { groupNodes, type Grouping } from "./groups.ts";
import { Kind, type Recording } from "./recording.ts";
import { Replay } from "./replay.ts";

export type Topic = "moved" | "look" | "recording" | "event" | "selection" | "open" | "tab" | "theme" | "playing" | "compare" | "view" | "grown";
/** What is in the middle of the graph's view, and how many pixels a unit has. */
export interface Viewpoint {
  x: number;
  y: number;
  scale: number;
}
export type Theme = "light" | "dark" | "auto";

export class App {
  recording!: Recording;
  replay!: Replay;
  other: Recording | null = null; // the second recording, when two are compared
  otherName = "";
  name = "";
  event = -1;
  node = -1;
  group = ""; // key of the selected group, when no node is selected
  open = new Set<string>();
  tab = "timeline";
  theme: Theme = "auto";
  follow = true;
  playing = false;
  kept = false; // the recording shown replaced an earlier state of itself
  viewpoint: Viewpoint | null = null; // once a person has moved the graph; "moved" says so, "look" asks the graph to go there
  view = -1; // the top pass whose graph is drawn; −1: all nodes
  private groupings = new Map<number, Grouping>();
  private listeners = new Map<Topic, (() => void)[]>();
  private topOfEvent: Int32Array | null = null;

  on(topics: Topic[], listener: () => void): void {
    for (const topic of topics) this.listeners.set(topic, [...(this.listeners.get(topic) ?? []), listener]);
  }

  tell(topic: Topic): void {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  /** Shows another recording. A live page passes keep, so that event, selection and open groups stay. */
  show(recording: Recording, name: string, keep = false): void {
    this.kept = keep;
    this.recording = recording;
    this.replay = new Replay(recording);
    this.name = name;
    this.groupings.clear();
    this.topOfEvent = null;
    if (!keep) {
      this.event = firstBackwardEvent(recording);
      this.node = -1;
      this.group = "";
      this.open.clear();
      this.viewpoint = null;
    }
    this.replay.seek(this.event);
    this.view = this.viewOf(this.event);
    if (!keep) this.openLonelyGroups();
    this.tell("recording");
  }

  get grouping(): Grouping {
    let grouping = this.groupings.get(this.view);
    if (!grouping) this.groupings.set(this.view, (grouping = groupNodes(this.recording, this.view)));
    return grouping;
  }

  /** Opens groups as long as little is hidden: a person should see something that means something, not one box. */
  openLonelyGroups(): void {
    const { groups } = this.grouping;
    let shown = groups[0]!.groups.length + groups[0]!.nodes.length;
    const todo = [...groups[0]!.groups];
    for (const g of todo) {
      const group = groups[g]!;
      const inside = group.groups.length + group.nodes.length;
      const alone = groups[group.parent]!.groups.length + groups[group.parent]!.nodes.length <= 2;
      if (!alone && shown + inside > 30) continue;
      shown += inside;
      this.open.add(group.key);
      todo.push(...group.groups);
    }
  }

  /** The top pass to draw at an event: its own, or for a forward operation the pass that comes next. */
  viewOf(event: number): number {
    const { passes, events } = this.recording;
    if (passes.rows === 0) return -1;
    if (this.topOfEvent === null || this.topOfEvent.length < events.length) {
      this.topOfEvent = new Int32Array(events.length);
      let next = this.recording.topPass(passes.rows - 1);
      for (let i = events.length - 1; i >= 0; i--) {
        if (events.pass[i]! >= 0) next = this.recording.topPass(events.pass[i]!);
        this.topOfEvent[i] = next;
      }
    }
    return this.topOfEvent.length === 0 ? 0 : this.topOfEvent[Math.max(0, Math.min(event, this.topOfEvent.length - 1))]!;
  }

  seek(event: number): void {
    const wanted = Math.max(-1, Math.min(this.recording.events.length - 1, Math.round(event)));
    if (wanted === this.event && this.replay.at === wanted + 1) return;
    this.event = wanted;
    this.replay.seek(wanted);
    const view = this.viewOf(wanted);
    if (view !== this.view) {
      this.view = view;
      this.tell("view");
    }
    this.tell("event");
  }

  /** The next event, in a direction, that starts a node. */
  nextNodeEvent(direction: 1 | -1): number {
    const { kind, length } = this.recording.events;
    for (let i = this.event + direction; i >= 0 && i < length; i += direction) if (kind[i] === Kind.started) return i;
    return direction > 0 ? length - 1 : -1;
  }

  select(node: number, reveal = true): void {
    this.node = node;
    this.group = "";
    if (reveal && node >= 0) this.reveal(node);
    this.tell("selection");
  }

  selectGroup(key: string): void {
    this.node = -1;
    this.group = key;
    this.tell("selection");
  }

  /** Opens every group around a node; moves to a pass that has it. */
  reveal(node: number): void {
    if (this.grouping.groupOf[node]! < 0) {
      const event = this.recording.eventsOf(node)[0];
      if (event !== undefined) this.seek(event);
    }
    let changed = false;
    for (let g = this.grouping.groupOf[node]!; g > 0; g = this.grouping.groups[g]!.parent) {
      const { key } = this.grouping.groups[g]!;
      if (!this.open.has(key)) {
        this.open.add(key);
        changed = true;
      }
    }
    if (changed) this.tell("open");
  }

  toggle(key: string): void {
    if (!this.open.delete(key)) this.open.add(key);
    this.tell("open");
  }

  setOpen(keys: Iterable<string>): void {
    this.open = new Set(keys);
    this.tell("open");
  }

  setTab(tab: string): void {
    this.tab = tab;
    this.tell("tab");
  }

  setPlaying(playing: boolean): void {
    if (this.playing === playing) return;
    this.playing = playing;
    this.tell("playing");
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.tell("theme");
  }

  compareWith(recording: Recording | null, name: string): void {
    this.other = recording;
    this.otherName = name;
    this.tell("compare");
  }
}

function firstBackwardEvent(recording: Recording): number {
  const at = recording.events.kind.subarray(0, recording.events.length).indexOf(Kind.passStarted);
  return at >= 0 ? at : recording.events.length - 1;
}
