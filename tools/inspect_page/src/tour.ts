// tour.ts: the card that leads through the pass, step by step, and moves the page to where each step happens.
import type { App } from "./app.ts";
import { announce, fill, h } from "./dom.ts";
import type { GraphView } from "./graph_view.ts";
import { setAddress } from "./link.ts";
import { tourSteps, type TourStep } from "./tour_steps.ts";

export class Tour {
  private readonly card = h("section", { class: "tour", "aria-label": "Guided tour", tabindex: -1 });
  private steps: TourStep[] = [];
  private at = 0;

  constructor(
    private readonly app: App,
    private readonly graph: GraphView,
  ) {
    this.card.addEventListener("keydown", (e) => {
      if (e.key === "Escape") {
        this.stop();
        e.stopPropagation();
      }
    });
    app.on(["recording"], () => this.stop());
  }

  start(at = 0): void {
    this.steps = tourSteps(this.app.recording);
    this.app.setPlaying(false);
    this.graph.stage.append(this.card);
    this.graph.stage.classList.add("touring");
    this.go(at);
  }

  stop(): void {
    if (!this.card.isConnected) return;
    this.card.remove();
    this.graph.stage.classList.remove("touring");
    setAddress("");
    this.app.tell("selection");
  }

  private go(at: number): void {
    const { app } = this;
    if (this.steps.length === 0) {
      fill(
        this.card,
        h("h2", {}, "No pass to show"),
        h("p", {}, "This recording has no backward pass, so there is nothing to walk through."),
        h("footer", {}, h("button", { type: "button", class: "plain", onclick: () => this.stop() }, "Close")),
      );
      return;
    }
    this.at = Math.max(0, Math.min(this.steps.length - 1, at));
    const step = this.steps[this.at]!;
    const button = (text: string, action: () => void, disabled = false): HTMLButtonElement =>
      h("button", { type: "button", class: "plain", disabled, onclick: action }, text);
    const last = this.at === this.steps.length - 1;
    const next = button(last ? "End" : "Next", () => (last ? this.stop() : this.go(this.at + 1)));
    fill(
      this.card,
      h("h2", {}, step.title),
      ...step.text.map((t) => h("p", {}, t)),
      h(
        "footer",
        {},
        h("span", { class: "numbers" }, `${this.at + 1} of ${this.steps.length}`),
        button("Close", () => this.stop()),
        button("Back", () => this.go(this.at - 1), this.at === 0),
        next,
      ),
    );
    setAddress(`tour=${this.at + 1}`);
    app.seek(step.event);
    if (step.node >= 0) {
      app.select(step.node);
      this.graph.show(step.node);
    } else app.select(-1);
    announce(`${step.title}. ${step.text.join(" ")}`);
    next.focus({ preventScroll: true });
  }
}
