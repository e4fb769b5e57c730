// outline.ts: the modules and nodes as a tree of text: the graph for those who read or hear it rather than look at it.
import type { App } from "./app.ts";
import { empty, fill, h } from "./dom.ts";
import { count } from "./format.ts";

const LIMIT = 400; // rows drawn; the search finds the rest

export class Outline {
  readonly element = h("div", { class: "panel-body" });
  private readonly tree = h("div", { role: "tree", "aria-label": "Modules and nodes" });

  constructor(private readonly app: App) {
    app.on(["recording", "open", "view", "selection"], () => this.update());
    this.tree.addEventListener("keydown", (e) => this.key(e));
  }

  update(): void {
    if (!this.element.isConnected) return;
    const { grouping, recording, open } = this.app;
    if (grouping.nodes.length === 0) {
      fill(this.element, empty("No nodes were recorded."));
      return;
    }
    const focused = this.tree.contains(document.activeElement);
    const rows: HTMLElement[] = [];
    const row = (depth: number, text: string, aside: string, selected: boolean, expanded: boolean | null, choose: () => void): void => {
      const item = h(
        "div",
        {
          role: "treeitem",
          tabindex: selected ? 0 : -1,
          "aria-level": depth + 1,
          "aria-selected": String(selected),
          "aria-expanded": expanded === null ? null : String(expanded),
          onclick: choose,
        },
        h("span", { class: "aside" }, expanded === null ? "" : expanded ? "▾" : "▸"),
        h("span", {}, text),
        h("span", { class: "aside numbers" }, aside),
      );
      item.style.paddingLeft = `${4 + depth * 12}px`;
      rows.push(item);
    };
    const walk = (g: number, depth: number): void => {
      const group = grouping.groups[g]!;
      for (const inner of group.groups) {
        if (rows.length >= LIMIT) return;
        const { key, label, count: inside } = grouping.groups[inner]!;
        row(depth, label, count(inside), this.app.group === key, open.has(key), () => {
          this.app.toggle(key);
          this.app.selectGroup(key);
        });
        if (open.has(key)) walk(inner, depth + 1);
      }
      for (const node of group.nodes) {
        if (rows.length >= LIMIT) return;
        row(depth, recording.title(node), recording.place(node), this.app.node === node, null, () => this.app.select(node));
      }
    };
    walk(0, 0);
    if (!rows.some((r) => r.tabIndex === 0) && rows[0]) rows[0].tabIndex = 0;
    fill(this.tree, ...rows);
    fill(this.element, this.tree, rows.length >= LIMIT ? h("p", { class: "none" }, `The first ${LIMIT} rows. Search finds every node.`) : null);
    if (focused) this.tree.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    this.tree.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  private key(e: KeyboardEvent): void {
    const items = [...this.tree.children] as HTMLElement[];
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (at < 0) return;
    const item = items[at]!;
    const go = (i: number): void => {
      const next = items[i];
      if (next) {
        item.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      }
    };
    const used: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(items.length - 1),
      Enter: () => item.click(),
      " ": () => item.click(),
      ArrowRight: () => {
        if (item.getAttribute("aria-expanded") === "false") item.click();
        else go(at + 1);
      },
      ArrowLeft: () => {
        if (item.getAttribute("aria-expanded") === "true") item.click();
      },
    };
    if (!used[e.key]) return;
    e.preventDefault();
    e.stopPropagation();
    used[e.key]!();
  }
}
