// node_panel.ts: everything known about the selected node or module.
import type { App } from "./app.ts";
import { EVENT_NAMES } from "./describe.ts";
import { empty, fill, h, nodeLink, type Child } from "./dom.ts";
import * as format from "./format.ts";
import { HEALTH_NAMES, Health } from "./health.ts";
import { histogram } from "./histogram.ts";
import { Kind } from "./recording.ts";
import { STATUS_NAMES } from "./replay.ts";
import { sourceView } from "./source_view.ts";
import { durations } from "./tallies.ts";

const KINDS = ["operator", "leaf: adds to .grad", "custom Function", "structural node", "C++ extension"];
const MANY = 12;

export class NodePanel {
  readonly element = h("div", { class: "panel-body node", tabindex: -1 });
  private shown = "";

  constructor(
    private readonly app: App,
    private readonly health: () => Uint8Array,
  ) {
    app.on(["recording", "selection", "view"], () => this.update());
    app.on(["event"], () => {
      if (this.shown !== this.stateKey()) this.update();
    });
  }

  private stateKey(): string {
    const { node, group, replay, event } = this.app;
    return node >= 0
      ? `${node} ${replay.status[node]} ${replay.dependencies[node]} ${replay.arrived[node]} ${replay.released[node]} ${replay.pass[node]}`
      : group || `pass ${this.app.recording.events.pass[event] ?? -1}`;
  }

  private update(): void {
    this.shown = this.stateKey();
    const top = this.element.scrollTop;
    if (this.app.node >= 0) this.showNode(this.app.node);
    else if (this.app.group) this.showGroup(this.app.group);
    else
      fill(
        this.element,
        empty("Nothing is selected.", "Click a node in the graph, or press / to search. Arrow keys left and right step through the events."),
      );
    this.element.scrollTop = top;
  }

  private section(title: string, ...children: Child[]): HTMLElement | null {
    return children.some((c) => c) ? h("section", {}, h("h3", {}, title), ...children) : null;
  }

  private facts(pairs: [string, Child][]): HTMLElement {
    return h(
      "dl",
      { class: "facts" },
      ...pairs.filter(([, v]) => v !== "" && v !== null && v !== false).flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]),
    );
  }

  private showNode(node: number): void {
    const { app } = this;
    const { recording, replay } = app;
    const { nodes } = recording;
    const status = replay.status[node]!;
    const module = this.moduleOf(node);
    const times = durations(recording);
    const health = this.health()[node]!;
    const [name, suffix] = format.nameParts(recording.nodeName(node));
    const operator = nodes.operator[node]!;
    fill(
      this.element,
      h(
        "header",
        { class: "node-head" },
        h("h2", {}, ...breakable(name), h("span", { class: "faint" }, suffix)),
        nodes.leaf[node]! >= 0 ? h("p", { class: "leaf" }, recording.text(nodes.leaf[node]!)) : null,
        h(
          "p",
          { class: "chips" },
          h("span", { class: `chip state-${["idle", "waiting", "ready", "running", "done", "failed"][status]}` }, h("i", {}), STATUS_NAMES[status]!),
          h("span", { class: "chip" }, KINDS[nodes.kind[node]!] ?? "node"),
          health > Health.fine ? h("span", { class: health >= Health.exploding ? "chip bad" : "chip warn" }, HEALTH_NAMES[health]!) : null,
        ),
      ),
      this.facts([
        ["node", h("span", { class: "numbers" }, node)],
        ["module", module.text ? nodeLink(module.text, () => app.selectGroup(module.key)) : ""],
        ["made in", nodes.function[node]! >= 0 ? `${recording.text(nodes.function[node]!)}()` : ""],
        [
          "sequence",
          nodes.sequence[node]! >= 0 && nodes.sequence[node]! < 1e15 ? h("span", { class: "numbers" }, format.count(nodes.sequence[node]!)) : "",
        ],
        [
          "ran for",
          times.total[node]! > 0 ? `${format.duration(times.total[node]!)}${times.runs[node]! > 1 ? ` in ${times.runs[node]} runs` : ""}` : "",
        ],
        ["waits for", format.plural(replay.dependencies[node]! >= 0 ? replay.dependencies[node]! : recording.into.of(node).length, "gradient")],
      ]),
      this.formulas(operator),
      this.buffer(node),
      this.saved(node),
      this.hooks(node),
      this.values(node),
      this.source(node),
      this.edges(node),
      this.events(node),
    );
  }

  /** The module of a node, which call of it if there are several, and the key of its group. */
  private moduleOf(node: number): { text: string; key: string } {
    const { groups, groupOf } = this.app.grouping;
    const path = this.app.recording.modulePath(this.app.recording.nodes.module[node]!);
    let g = groupOf[node]!;
    while (g > 0 && groups[g]!.module < 0) g = groups[g]!.parent;
    const key = g > 0 ? groups[g]!.key : path;
    while (g > 0 && groups[g]!.call === 0) g = groups[g]!.parent;
    if (g <= 0) return { text: path, key };
    const call = `call ${groups[g]!.call}`;
    return { text: groups[g]!.path === path ? `${path}, ${call}` : `${path} in ${call} of ${groups[g]!.path}`, key };
  }

  private formulas(operator: number): HTMLElement | null {
    if (operator < 0) return null;
    const { recording } = this.app;
    const doc = recording.text(recording.operators.doc[operator]!),
      forward = recording.text(recording.operators.forward[operator]!);
    return this.section(
      "Formula",
      doc ? h("p", { class: "doc" }, doc) : null,
      forward ? h("pre", { class: "formula" }, `${recording.text(recording.operators.name[operator]!)}: ${forward}`) : null,
      ...recording.formulas(operator).map(([name, formula]) => h("pre", { class: "formula" }, h("b", {}, `∂${name}`), ` = ${formula}`)),
    );
  }

  private buffer(node: number): HTMLElement | null {
    const { recording, replay } = this.app;
    const outputs = recording.outputs(node);
    if (outputs.length === 0) return null;
    const filled = replay.buffer(node);
    const done = replay.status[node]! >= 4;
    return this.section(
      "Input buffer",
      h(
        "table",
        { class: "small" },
        h("thead", {}, h("tr", {}, h("th", {}, "input"), h("th", {}, "shape"), h("th", {}, "dtype"), h("th", { class: "right" }, "now"))),
        h(
          "tbody",
          {},
          ...outputs
            .slice(0, MANY)
            .map((slot, i) =>
              h(
                "tr",
                {},
                h("td", { class: "numbers" }, i),
                h("td", { class: "numbers" }, slot.dtype ? format.shape(slot.shape) : "not used"),
                h("td", {}, slot.dtype || "–"),
                h("td", { class: "right" }, filled.has(i) ? format.plural(filled.get(i)!, "gradient") : done ? "used" : "empty"),
              ),
            ),
        ),
      ),
      more(outputs.length),
    );
  }

  private saved(node: number): HTMLElement | null {
    const saved = this.app.recording.saved(node);
    if (saved.length === 0) return null;
    const released = this.app.replay.released[node] === 1;
    return this.section(
      released ? "Saved tensors (released)" : "Saved tensors",
      h(
        "table",
        { class: released ? "small gone" : "small" },
        h(
          "tbody",
          {},
          ...saved
            .slice(0, MANY)
            .map((s) =>
              h(
                "tr",
                {},
                h("td", {}, h("code", {}, s.name)),
                h("td", { class: "numbers" }, format.shape(s.shape)),
                h("td", {}, s.dtype),
                h("td", { class: "right numbers" }, format.bytes(s.bytes)),
              ),
            ),
        ),
      ),
      more(saved.length),
    );
  }

  private hooks(node: number): HTMLElement | null {
    const { hooks, files } = this.app.recording;
    const rows: HTMLElement[] = [];
    for (let i = 0; i < hooks.rows; i++) {
      if (hooks.node[i] !== node) continue;
      const place = hooks.file[i]! >= 0 ? `${files[hooks.file[i]!]!.path.split("/").pop()}:${hooks.line[i]}` : "";
      rows.push(
        h(
          "li",
          {},
          h("code", {}, this.app.recording.text(hooks.name[i]!) || "hook"),
          h("span", { class: "aside" }, [String(hooks.kind[i]).replaceAll("_", " "), place].filter(Boolean).join(" · ")),
        ),
      );
    }
    return rows.length > 0 ? this.section("Hooks", h("ul", { class: "node-list" }, ...rows)) : null;
  }

  private values(node: number): HTMLElement | null {
    const { recording, event } = this.app;
    const { values } = recording;
    const rows = Array.from(recording.valuesOf(node));
    if (rows.length === 0) return null;
    const past = rows.filter((r) => values.event[r]! <= event);
    const row = past.length > 0 ? past[past.length - 1]! : rows[0]!;
    const size = values.size[row]!;
    const shown = recording.histogram(row);
    return this.section(
      past.length > 0 ? "Gradient" : "Gradient (later)",
      this.facts([
        ["norm", num(values.norm[row]!)],
        ["min … max", h("span", { class: "numbers" }, `${format.value(values.min[row]!)} … ${format.value(values.max[row]!)}`)],
        ["mean", num(values.mean[row]!)],
        ["zeros", h("span", { class: "numbers" }, format.percent(values.zeros[row]!, size))],
        [
          "NaN, Inf",
          values.nan[row]! + values.inf[row]! > 0
            ? h(
                "span",
                { class: "bad-text numbers" },
                `${format.count(values.nan[row]!)} NaN, ${format.count(values.inf[row]!)} Inf of ${format.count(size)}`,
              )
            : "",
        ],
      ]),
      shown ? histogram(shown) : null,
    );
  }

  private source(node: number): HTMLElement | null {
    const { recording } = this.app;
    const file = recording.nodes.file[node]!;
    if (file < 0) return null;
    const lines = recording.lines(file),
      line = recording.nodes.line[node]!;
    const stack = recording.stack(node).slice(1, 8);
    return this.section(
      "Source",
      h("p", { class: "path" }, `${recording.files[file]!.path}:${line}`),
      lines && line >= 1 && line <= lines.length ? sourceView(lines, line) : h("p", { class: "none" }, "The text of this file was not recorded."),
      stack.length > 0
        ? h(
            "details",
            {},
            h("summary", {}, "Called from"),
            h(
              "ol",
              { class: "node-list" },
              ...stack.map((f) =>
                h(
                  "li",
                  {},
                  h("code", {}, f.function || "?"),
                  h("span", { class: "aside" }, `${recording.files[f.file]!.path.split("/").pop()}:${f.line}`),
                ),
              ),
            ),
          )
        : null,
    );
  }

  private edges(node: number): HTMLElement | null {
    const { recording } = this.app;
    const { edges } = recording;
    const list = (rows: Int32Array, end: Int32Array, label: (e: number) => string): HTMLElement | null =>
      rows.length === 0
        ? null
        : h(
            "ul",
            { class: "node-list" },
            ...Array.from(rows.subarray(0, MANY), (e) =>
              h(
                "li",
                {},
                nodeLink(recording.title(end[e]!), () => this.app.select(end[e]!)),
                h("span", { class: "aside" }, label(e)),
              ),
            ),
            more(rows.length),
          );
    const from = list(recording.into.of(node), edges.from, (e) => `into input ${edges.toSlot[e]}`);
    const to = list(recording.out.of(node), edges.to, (e) => `input ${edges.toSlot[e]}`);
    return h("div", {}, from ? this.section("Gets gradients from", from) : null, to ? this.section("Sends gradients to", to) : null);
  }

  private events(node: number): HTMLElement | null {
    const { recording } = this.app;
    const rows = Array.from(recording.eventsOf(node));
    if (rows.length === 0) return this.section("Events", h("p", { class: "none" }, "The engine never touched this node in the recording."));
    const { kind, time, slot } = recording.events;
    const list = rows.slice(0, 60).map((i) =>
      h(
        "li",
        { class: i === this.app.event ? "current" : null },
        nodeLink(
          EVENT_NAMES[kind[i]!]! + (kind[i] === Kind.arrived && slot[i]! >= 0 ? ` at input ${slot[i]}` : ""),
          () => this.app.seek(i),
          `Go to event ${i + 1}`,
        ),
        h("span", { class: "aside numbers" }, format.duration(time[i]! - time[0]!)),
      ),
    );
    return this.section(
      "Events",
      h("ol", { class: "node-list" }, ...list),
      rows.length > 60 ? h("p", { class: "none" }, `and ${format.count(rows.length - 60)} more`) : null,
    );
  }

  private showGroup(key: string): void {
    const { app } = this;
    const { grouping, recording } = app;
    const index = grouping.groups.findIndex((g) => g.key === key);
    if (index < 0) {
      fill(this.element, empty("This module has no nodes in this pass."));
      return;
    }
    const group = grouping.groups[index]!;
    const nodes: number[] = [];
    const todo = [index];
    while (todo.length > 0) {
      const g = grouping.groups[todo.pop()!]!;
      nodes.push(...g.nodes);
      todo.push(...g.groups);
    }
    const times = durations(recording);
    let time = 0,
      saved = 0;
    for (const n of nodes) {
      time += times.total[n]!;
      for (const s of recording.saved(n)) saved += s.bytes;
    }
    const slowest = nodes
      .slice()
      .sort((a, b) => times.total[b]! - times.total[a]!)
      .slice(0, 8)
      .filter((n) => times.total[n]! > 0);
    const open = app.open.has(key);
    fill(
      this.element,
      h("header", { class: "node-head" }, h("h2", {}, group.label), group.detail ? h("p", { class: "leaf" }, group.detail) : null),
      h(
        "p",
        { class: "chips" },
        h(
          "button",
          {
            type: "button",
            class: "plain",
            onclick: () => {
              app.toggle(key);
              this.update();
            },
          },
          open ? "Close" : "Open",
        ),
      ),
      this.facts([
        ["path", group.module > 0 ? group.path : ""],
        ["nodes", h("span", { class: "numbers" }, format.count(group.count))],
        ["ran for", format.duration(time)],
        ["saved", format.bytes(saved)],
      ]),
      slowest.length > 0
        ? this.section(
            "Slowest nodes",
            h(
              "ol",
              { class: "node-list" },
              ...slowest.map((n) =>
                h(
                  "li",
                  {},
                  nodeLink(recording.title(n), () => app.select(n)),
                  h("span", { class: "aside numbers" }, format.duration(times.total[n]!)),
                ),
              ),
            ),
          )
        : null,
    );
  }
}

/** A name of several words, which may be broken before each of them. */
function breakable(name: string): Child[] {
  return name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((word, i) => (i > 0 ? [h("wbr", {}), word] : [word]));
}

function num(x: number): HTMLElement {
  return h("span", { class: "numbers" }, format.value(x));
}

function more(total: number): HTMLElement | null {
  return total > MANY ? h("p", { class: "none" }, `and ${format.count(total - MANY)} more`) : null;
}
