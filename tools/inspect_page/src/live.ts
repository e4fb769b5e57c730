// live.ts: the connection to a pass that runs under the page's control (undertow.inspect.debug): polls its state, sends commands, adds new events.
import type { App } from "./app.ts";
import { DamagedRecording, object, Table, type Json } from "./columns.ts";
import { Recording } from "./recording.ts";

export interface LiveGradient {
  slot: number;
  shape: number[];
  dtype: string;
  norm: number | string | null;
  min: number | string | null;
  max: number | string | null;
  mean: number | string | null;
  zeros: number;
  nan: number;
  inf: number;
  size: number;
  changed: boolean;
}
export interface Breakpoint {
  id: number;
  on: string;
  value: string | number | null;
}
export interface LiveState {
  number: number;
  status: "paused" | "running" | "finished" | "failed" | "stopped";
  node: number | null;
  pass: number | null;
  event: number | null;
  reason: string | null;
  breakpoint: number | null;
  error: string | null;
  gradients: LiveGradient[];
  breakpoints: Breakpoint[];
}
export type Command = { command: string } & Record<string, unknown>;

const RETRIES = 5;
const RUNS = ["step", "step_over", "run_to", "continue"]; // after these the pass moves on

function wait(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

export class Live {
  state: LiveState | null = null;
  lost = false;
  problem = ""; // what the server said to the last command
  private listeners: (() => void)[] = [];

  constructor(private readonly app: App) {
    addEventListener("pagehide", () => {
      navigator.sendBeacon("bye");
    });
  }

  changed(listener: () => void): void {
    this.listeners.push(listener);
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }

  get over(): boolean {
    return this.state !== null && ["finished", "failed", "stopped"].includes(this.state.status);
  }

  async fetchRecording(): Promise<Recording> {
    const answer = await fetch("recording");
    if (!answer.ok) throw new DamagedRecording(`the server answered ${answer.status} ${answer.statusText}`);
    return new Recording(await answer.json());
  }

  /** Follows the pass until it is over. */
  async follow(): Promise<void> {
    let failures = 0;
    while (!this.over) {
      try {
        const answer = await fetch(`poll?state=${this.state?.number ?? -1}&event=${this.app.recording.events.length}`);
        if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
        await this.take(object(await answer.json(), "the answer"));
        failures = 0;
        if (this.lost) {
          this.lost = false;
          this.tell();
        }
      } catch {
        if (++failures >= RETRIES) {
          this.lost = true;
          this.tell();
          return;
        }
        await wait(400 * failures);
      }
    }
    this.tell();
  }

  private async take(data: Json): Promise<void> {
    const { app } = this;
    const atEnd = app.event >= app.recording.events.length - 1;
    const state = data.state as LiveState;
    const moved = this.state?.event !== state.event || this.state?.status !== state.status; // else only a breakpoint or a gradient changed
    this.state = state;
    if (Number(data.nodes) > app.recording.nodes.rows || this.over || !this.append(data)) app.show(await this.fetchRecording(), app.name, true);
    else app.tell("grown");
    if (moved || atEnd) app.seek(app.recording.events.length - 1);
    if (moved && state.status === "paused" && state.node !== null && state.node < app.recording.nodes.rows) app.select(state.node);
    this.tell();
  }

  /** False if the new rows speak of something this page does not know, such as a pass that began meanwhile. */
  private append(data: Json): boolean {
    const { recording } = this.app;
    if (data.first !== recording.events.length) return false;
    try {
      recording.append(new Table(data, "events", "kind"), new Table(data, "values", "event"));
      return true;
    } catch (error) {
      if (error instanceof DamagedRecording) return false;
      throw error;
    }
  }

  /** Sends one command; the answer, or null if the server refused it (then `problem` says why). */
  async send(command: Command): Promise<Json | null> {
    const before = this.state?.number;
    try {
      const answer = await fetch("command", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(command) });
      const data = object(await answer.json(), "the answer");
      this.problem = answer.ok || command.command === "gradient" ? "" : String(data.error ?? `the server answered ${answer.status}`);
      // A poll brings the new state, and may have done so already. Its number is not taken from here: the next poll would then wait for another.
      if (answer.ok && this.state && this.state.number === before) {
        if (RUNS.includes(command.command)) this.state = { ...this.state, status: "running" };
        else if (data.state) this.state = { ...(data.state as LiveState), number: this.state.number };
      }
      if (command.command !== "gradient") this.tell();
      return answer.ok ? data : null;
    } catch {
      this.problem = "The program does not answer; it may have ended.";
      this.tell();
      return null;
    }
  }
}
