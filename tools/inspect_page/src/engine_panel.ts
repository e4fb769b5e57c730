// engine_panel.ts: the engine's state at the current event: what runs, the ready queue, the waiting nodes with their buffers.
import type { App } from "./app.ts";
import { passName } from "./describe.ts";
import { fill, h, nodeLink } from "./dom.ts";
import { count, plural } from "./format.ts";

const SHOWN = 40;

export class EnginePanel {
  readonly element = h("div", { class: "panel-body engine" });

  constructor(private readonly app: App) {
    app.on(["recording", "event"], () => this.update());
  }

  private update(): void {
    const { replay, recording, event } = this.app;
    const pass = event >= 0 ? recording.events.pass[event]! : -1;
    const top = pass >= 0 ? recording.topPass(pass) : -1;
    const mine = (node: number): boolean => top < 0 || replay.pass[node]! < 0 || recording.topPass(replay.pass[node]!) === top;
    const all = replay.running.members.length + replay.ready.members.length + replay.waiting.members.length;
    const running = replay.running.members.filter(mine).reverse();
    const ready = replay.readyInOrder().filter(mine);
    const waiting = replay.waiting.members.filter(mine).sort((a, b) => replay.dependencies[a]! - replay.dependencies[b]! || a - b);
    fill(
      this.element,
      h(
        "p",
        { class: "pass-line" },
        pass >= 0 ? passName(recording, pass) : "outside a pass",
        pass >= 0 && recording.passes.depth[pass]! > 0 ? h("span", { class: "tag" }, `reentrant depth ${recording.passes.depth[pass]}`) : null,
      ),
      this.section("Running", "running", running, "Nothing runs at this moment.", (n) => this.row(n, "")),
      this.section("Ready queue", "ready", ready, "The queue is empty.", (n, i) => this.row(n, i === 0 ? "next" : "")),
      this.section("Waiting", "waiting", waiting, "No node has a partly filled buffer.", (n) => this.waitingRow(n)),
      all > running.length + ready.length + waiting.length
        ? h("p", { class: "hint" }, `${plural(all - running.length - ready.length - waiting.length, "more node")} in passes of other threads`)
        : null,
    );
  }

  private section(title: string, state: string, nodes: number[], none: string, row: (node: number, i: number) => HTMLElement): HTMLElement {
    const list = nodes.length > 0 ? h("ol", { class: "node-list" }, ...nodes.slice(0, SHOWN).map(row)) : h("p", { class: "none" }, none);
    return h(
      "section",
      { class: `state-${state}` },
      h("h3", {}, h("i", {}), title, h("span", { class: "count numbers" }, count(nodes.length))),
      list,
      nodes.length > SHOWN ? h("p", { class: "none" }, `and ${count(nodes.length - SHOWN)} more`) : null,
    );
  }

  private row(node: number, tag: string): HTMLElement {
    const { recording } = this.app;
    return h(
      "li",
      {},
      nodeLink(recording.title(node), () => this.app.select(node), recording.modulePath(recording.nodes.module[node]!)),
      h("span", { class: "aside" }, tag || recording.place(node)),
    );
  }

  private waitingRow(node: number): HTMLElement {
    const { recording, replay } = this.app;
    const buffer = replay.buffer(node);
    const inputs = Math.max(recording.nodes.outputs[node]!.length, ...[...buffer.keys()].map((k) => k + 1), 1);
    const slots: HTMLElement[] = [];
    for (let i = 0; i < Math.min(inputs, 12); i++) {
      const sum = buffer.get(i) ?? 0;
      slots.push(
        h(
          "span",
          { class: sum > 0 ? "slot filled" : "slot", title: sum > 0 ? `input ${i}: ${plural(sum, "gradient")} summed` : `input ${i}: empty` },
          sum > 1 ? `Σ${sum}` : sum === 1 ? "1" : "·",
        ),
      );
    }
    const left = Math.max(0, replay.dependencies[node]!);
    return h(
      "li",
      {},
      nodeLink(recording.title(node), () => this.app.select(node)),
      h("span", { class: "slots", "aria-label": `${plural(buffer.size, "input")} of ${inputs} filled` }, ...slots),
      h("span", { class: "aside numbers", title: "gradients still missing" }, left === 0 ? "complete" : `${count(left)} left`),
    );
  }
}
