// help.ts: the keys, and where things are.
import { h } from "./dom.ts";

const KEYS: [string, string][] = [
  ["← →", "the event before, the next event"],
  ["Shift ← →", "the node before, the next node"],
  ["Space", "play, pause"],
  ["Home End", "first and last event"],
  ["/", "search"],
  ["N", "go to the first NaN or Inf"],
  ["↑ ↓", "in the graph: along an edge"],
  ["Enter", "in the graph: open or close a module"],
  ["+ − 0", "zoom in, zoom out, show everything"],
  ["Shift E, Shift C", "open or close all modules"],
  ["T", "light or dark"],
  ["Esc", "select nothing"],
];
const LIVE_KEYS: [string, string][] = [
  ["S or F10", "run this node, pause before the next"],
  ["O or F11", "run until another module"],
  ["C or F8", "run to the next breakpoint or the end"],
];

export function showHelp(live: boolean): void {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", {}, ...[...KEYS, ...(live ? LIVE_KEYS : [])].flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h(
      "p",
      { class: "hint" },
      "Gradients flow downward, from the loss to the leaves. Rounded boxes add to .grad; a double border is a custom Function; a dashed one belongs to the engine. The address of the page always leads back to what you see.",
    ),
    h("form", { method: "dialog" }, h("p", { class: "right" }, h("button", { class: "plain" }, "Close"))),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
