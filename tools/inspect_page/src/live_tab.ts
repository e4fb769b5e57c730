// live_tab.ts: the gradients that are about to enter the paused node: their figures, their values, and ways to change them.
import type { App } from "./app.ts";
import { empty, fill, h } from "./dom.ts";
import { count, shape, value } from "./format.ts";
import type { Live, LiveGradient } from "./live.ts";

const SIDE = 16; // rows and columns of values shown at a time

function numberOf(x: number | string | null | undefined): number {
  return x === "inf" ? Infinity : x === "-inf" ? -Infinity : typeof x === "number" ? x : NaN;
}

export class LiveTab {
  readonly element = h("div", { class: "split even" });
  private readonly list = h("div", {});
  private readonly grid = h("div", {});
  private slot = -1;
  private start: number[] = [];
  private shown = "";

  constructor(
    private readonly app: App,
    private readonly live: Live,
  ) {
    this.element.append(this.list, this.grid);
    live.changed(() => {
      if (this.element.isConnected) this.update();
    });
  }

  update(): void {
    const { state } = this.live;
    if (!state || state.status !== "paused" || state.node === null) {
      this.shown = "";
      fill(
        this.list,
        empty(
          this.live.over ? "The pass is over." : "The pass is running.",
          this.live.over ? "" : "Pause it, or let it reach a breakpoint, to look at gradients.",
        ),
      );
      fill(this.grid);
      return;
    }
    const rows = state.gradients.map((g) => this.row(g));
    fill(
      this.list,
      h(
        "h3",
        { class: "block-title" },
        `About to enter ${state.node < this.app.recording.nodes.rows ? this.app.recording.title(state.node) : "the node"}`,
      ),
      rows.length > 0 ? h("div", {}, ...rows) : empty("No gradient enters this node."),
    );
    if (!state.gradients.some((g) => g.slot === this.slot)) {
      this.slot = state.gradients[0]?.slot ?? -1;
    }
    const gradient = state.gradients.find((g) => g.slot === this.slot);
    const key = `${state.event} ${state.node} ${this.slot} ${JSON.stringify(gradient)}`;
    if (key === this.shown) return;
    if (this.start.length !== gradient?.shape.length) this.start = gradient ? gradient.shape.map(() => 0) : [];
    this.shown = key;
    if (gradient) void this.showValues(gradient);
    else fill(this.grid);
  }

  private set(slot: number, to: unknown): void {
    void this.live.send({ command: "set", slot, to });
  }

  private row(g: LiveGradient): HTMLElement {
    const factor = h("input", { type: "number", step: "any", value: 2, "aria-label": "Number for scale and fill" });
    const act = (text: string, title: string, action: () => void): HTMLButtonElement =>
      h("button", { type: "button", class: "plain small-button", title, onclick: action }, text);
    const bad = g.nan + g.inf > 0;
    return h(
      "div",
      { class: "live-gradient" },
      h(
        "p",
        {},
        h("b", {}, `input ${g.slot}`),
        h("span", { class: "numbers" }, ` ${shape(g.shape)} ${g.dtype}`),
        g.changed ? h("span", { class: "chip warn" }, "changed") : null,
        bad ? h("span", { class: "chip bad" }, `${count(g.nan)} NaN, ${count(g.inf)} Inf`) : null,
      ),
      h(
        "p",
        { class: "numbers aside" },
        `norm ${value(numberOf(g.norm))} · from ${value(numberOf(g.min))} to ${value(numberOf(g.max))} · mean ${value(numberOf(g.mean))} · ${count(g.zeros)} of ${count(g.size)} zero`,
      ),
      h(
        "p",
        { class: "live-actions" },
        act("Values", "Show the numbers", () => {
          this.slot = g.slot;
          this.shown = "";
          this.update();
        }),
        act("Set to zero", "Every element becomes 0", () => this.set(g.slot, "zero")),
        factor,
        act("Scale", "Multiply by this number", () => this.set(g.slot, { scale: Number(factor.value) })),
        act("Fill", "Every element becomes this number", () => this.set(g.slot, { fill: Number(factor.value) })),
        bad ? act("Replace NaN by 0", "NaN and Inf become 0", () => this.set(g.slot, { remove_nan: 0 })) : null,
        g.changed ? act("Undo changes", "The gradient as it arrived", () => this.set(g.slot, "original")) : null,
      ),
    );
  }

  private async showValues(g: LiveGradient): Promise<void> {
    const last = g.shape.length - 1;
    const sizes = g.shape.map((n, i) => (i >= last - 1 ? Math.min(SIDE, n - this.start[i]!) : 1));
    const answer = await this.live.send({ command: "gradient", slot: g.slot, start: this.start, shape: sizes.slice(-2) });
    if (!answer) return;
    let rows = answer.values as unknown;
    while (Array.isArray(rows) && Array.isArray(rows[0]) && Array.isArray((rows[0] as unknown[])[0])) rows = rows[0];
    const table: unknown[][] = !Array.isArray(rows) ? [[rows]] : Array.isArray(rows[0]) ? (rows as unknown[][]) : [rows as unknown[]];
    const move = (axis: number, by: number, text: string): HTMLButtonElement => {
      const next = this.start[axis]! + by;
      return h(
        "button",
        {
          type: "button",
          class: "plain small-button",
          disabled: next < 0 || next >= g.shape[axis]!,
          onclick: () => {
            this.start[axis] = next;
            void this.showValues(g);
          },
        },
        text,
      );
    };
    const moves = g.shape.flatMap((n, axis) => {
      const step = axis >= last - 1 ? SIDE : 1;
      return n > (axis >= last - 1 ? SIDE : 1)
        ? [h("span", { class: "aside" }, `axis ${axis} from ${this.start[axis]}`), move(axis, -step, "−"), move(axis, step, "+")]
        : [];
    });
    const cell = (x: unknown, i: number, j: number): HTMLElement => {
      const number = numberOf(x as number);
      const at = this.start.slice();
      if (last >= 1) {
        at[last - 1] = at[last - 1]! + i;
        at[last] = at[last]! + j;
      } else if (last === 0) at[0] = at[0]! + j;
      const button = h(
        "button",
        {
          type: "button",
          class: Number.isFinite(number) ? "cell numbers" : "cell numbers bad-text",
          "aria-label": `Element ${at.join(", ")}: ${value(number)}. Change it.`,
          onclick: () => this.edit(button, g.slot, at, number),
        },
        value(number),
      );
      return h("td", {}, button);
    };
    fill(
      this.grid,
      h("h3", { class: "block-title" }, `Values of input ${g.slot}`, h("span", { class: "aside" }, "click one to change it"), ...moves),
      h("table", { class: "small values" }, h("tbody", {}, ...table.map((row, i) => h("tr", {}, ...row.map((x, j) => cell(x, i, j)))))),
    );
  }

  private edit(button: HTMLButtonElement, slot: number, at: number[], old: number): void {
    const input = h("input", { type: "number", step: "any", value: Number.isFinite(old) ? old : 0, class: "cell-input", "aria-label": "New value" });
    let over = false; // replacing the field makes it lose the focus, which would end the change a second time
    const done = (keep: boolean): void => {
      if (over) return;
      over = true;
      input.replaceWith(button);
      if (keep && input.value !== "" && Number(input.value) !== old) this.set(slot, { at, value: Number(input.value) });
    };
    input.addEventListener("keydown", (e) => {
      e.stopPropagation();
      if (e.key === "Enter") done(true);
      else if (e.key === "Escape") done(false);
    });
    input.addEventListener("blur", () => done(true));
    button.replaceWith(input);
    input.select();
  }
}
