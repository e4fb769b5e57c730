// tabs.ts: a row of tabs and the panel of the chosen one, with the keys and roles that screen readers expect.
import { h } from "./dom.ts";

export interface Tab {
  id: string;
  title: string;
  element: HTMLElement;
  badge?: () => { text: string; bad?: boolean } | null;
  shown?: () => void;
  tight?: boolean;
}

export class Tabs {
  readonly bar: HTMLElement;
  readonly body = h("div", { class: "tab-body", role: "tabpanel", tabindex: -1 });
  private readonly buttons = new Map<string, HTMLButtonElement>();
  current = "";

  constructor(
    label: string,
    private readonly tabs: Tab[],
    private readonly chosen: (id: string) => void,
  ) {
    this.bar = h("div", { class: "tabs", role: "tablist", "aria-label": label });
    for (const tab of tabs) {
      const button = h("button", { type: "button", role: "tab", id: `tab-${tab.id}`, onclick: () => this.chosen(tab.id) }, tab.title);
      this.buttons.set(tab.id, button);
      this.bar.append(button);
    }
    this.bar.addEventListener("keydown", (e) => {
      const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
      if (step === 0) return;
      e.preventDefault();
      e.stopPropagation();
      const at = tabs.findIndex((t) => t.id === this.current);
      const next = tabs[(at + step + tabs.length) % tabs.length]!;
      this.chosen(next.id);
      this.buttons.get(next.id)!.focus();
    });
  }

  show(id: string): void {
    const tab = this.tabs.find((t) => t.id === id) ?? this.tabs[0]!;
    this.current = tab.id;
    for (const [key, button] of this.buttons) {
      button.setAttribute("aria-selected", String(key === tab.id));
      button.tabIndex = key === tab.id ? 0 : -1;
    }
    this.body.setAttribute("aria-labelledby", `tab-${tab.id}`);
    this.body.classList.toggle("tight", tab.tight === true);
    if (this.body.firstChild !== tab.element) this.body.replaceChildren(tab.element);
    tab.shown?.();
  }

  /** Redraws the numbers on the tabs and the panel that is visible. */
  refresh(): void {
    for (const tab of this.tabs) {
      const badge = tab.badge?.() ?? null;
      const button = this.buttons.get(tab.id)!;
      button.querySelector(".badge")?.remove();
      if (badge) button.append(h("span", { class: badge.bad ? "badge bad numbers" : "badge numbers" }, badge.text));
    }
    this.refreshShown();
  }

  refreshShown(): void {
    this.tabs.find((t) => t.id === this.current)?.shown?.();
  }
}
