// live_bar.ts: the controls of a live pass: step, run, breakpoints, and the state it is in.
import type { App } from "./app.ts";
import { fill, h } from "./dom.ts";
import type { Breakpoint, Live } from "./live.ts";

const REASONS: Record<string, string> = {
  start: "before the first node",
  step: "after a step",
  module: "at another module",
  node: "at the chosen node",
  pause: "as asked",
  breakpoint: "at a breakpoint",
};
const KINDS: [string, string, string][] = [
  ["name", "node named", "MulBackward0"],
  ["line", "source line", "train.py:12"],
  ["module", "module", "layers.0"],
  ["nan", "NaN or Inf", ""],
  ["norm", "norm above", "100"],
  ["node", "node number", "17"],
];

const COMMANDS: [string, string, string][] = [
  ["step", "Step", "Run this node, pause before the next (S)"],
  ["step_over", "Step over module", "Run until another module (O)"],
  ["run_to", "Run to selected", "Run until the selected node is about to run"],
  ["continue", "Continue", "Run to the next breakpoint or the end (C)"],
  ["pause", "Pause", "Pause before the next node"],
  ["stop", "Stop", "End the pass with an error"],
];

export class LiveBar {
  readonly element = h("section", { class: "live", "aria-label": "Control of the running pass" });
  private readonly status = h("span", { class: "status", role: "status" });
  private readonly buttons = new Map<string, HTMLButtonElement>();
  private readonly points = h("span", { class: "live-points" });
  private readonly problem = h("span", { class: "bad-text", role: "alert" });

  constructor(
    private readonly app: App,
    private readonly live: Live,
  ) {
    for (const [command, text, title] of COMMANDS) {
      this.buttons.set(
        command,
        h(
          "button",
          {
            type: "button",
            class: "plain",
            title,
            disabled: true,
            "data-command": command,
            onclick: () => void live.send(command === "run_to" ? { command, node: app.node } : { command }),
          },
          text,
        ),
      );
    }
    this.element.append(this.status, h("span", { class: "live-buttons" }, ...this.buttons.values()), this.form(), this.points, this.problem);
    live.changed(() => this.update());
    app.on(["selection"], () => this.update());
  }

  private form(): HTMLElement {
    const kind = h("select", { "aria-label": "Break on" }, ...KINDS.map(([value, text]) => h("option", { value }, text)));
    const value = h("input", { type: "text", placeholder: KINDS[0]![2], "aria-label": "Value of the breakpoint" });
    kind.addEventListener("change", () => {
      const [, , hint] = KINDS.find(([k]) => k === kind.value)!;
      value.placeholder = hint;
      value.hidden = kind.value === "nan";
    });
    const form = h("form", { class: "break-form" }, h("label", {}, "Break on ", kind), value, h("button", { class: "plain" }, "Add"));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      const number = kind.value === "norm" || kind.value === "node";
      const text = value.value.trim();
      if (kind.value !== "nan" && !text) {
        value.focus();
        return;
      }
      void this.live.send({ command: "break", on: kind.value, value: kind.value === "nan" ? null : number ? Number(text) : text });
      value.value = "";
    });
    return form;
  }

  private update(): void {
    const { live, app } = this;
    const { state } = live;
    if (!state) return;
    const paused = state.status === "paused" && !live.lost,
      running = state.status === "running" && !live.lost;
    const where = state.node !== null && state.node < app.recording.nodes.rows ? app.recording.title(state.node) : "";
    const texts: Record<string, string> = {
      paused: `Paused ${REASONS[state.reason ?? ""] ?? ""}${where ? `: ${where} is about to run` : ""}`,
      running: "Running",
      finished: "The pass has finished",
      failed: `The pass failed: ${state.error ?? ""}`,
      stopped: "The pass was stopped",
    };
    this.status.className = `status state-${live.lost ? "failed" : paused ? "ready" : running ? "running" : state.status === "finished" ? "done" : "failed"}`;
    fill(this.status, h("i", {}), live.lost ? "The connection to the program is lost" : texts[state.status]!);
    const enabled: Record<string, boolean> = {
      step: paused,
      step_over: paused,
      run_to: paused && app.node >= 0 && app.node !== state.node,
      continue: paused,
      pause: running,
      stop: paused || running,
    };
    for (const [command, button] of this.buttons) button.disabled = !enabled[command];
    fill(this.points, ...state.breakpoints.map((b) => this.chip(b, b.id === state.breakpoint)));
    this.problem.textContent = live.problem;
  }

  private chip(b: Breakpoint, hit: boolean): HTMLElement {
    const text = b.on === "nan" ? "NaN or Inf" : `${KINDS.find(([k]) => k === b.on)?.[1] ?? b.on} ${b.value ?? ""}`;
    return h(
      "span",
      { class: hit ? "chip bad" : "chip" },
      text,
      h(
        "button",
        {
          type: "button",
          class: "link",
          "aria-label": `Remove breakpoint: ${text}`,
          onclick: () => void this.live.send({ command: "unbreak", id: b.id }),
        },
        "×",
      ),
    );
  }

  /** Keys as in debuggers, and as in the terminal. True if the key was used. */
  key(e: KeyboardEvent): boolean {
    const command = ({ F8: "continue", F10: "step", F11: "step_over", c: "continue", s: "step", o: "step_over" } as Record<string, string>)[e.key];
    if (!command || this.live.state?.status !== "paused") return false;
    void this.live.send({ command });
    return true;
  }
}
