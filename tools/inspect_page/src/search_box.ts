// search_box.ts: the search field of the header and the list of what it finds.
import type { App } from "./app.ts";
import { announce, fill, h } from "./dom.ts";
import { plural } from "./format.ts";
import { search, type Found } from "./search.ts";

const SHOWN = 60;

export class SearchBox {
  readonly input = h("input", {
    type: "search",
    placeholder: "Search nodes, modules, lines  /",
    role: "combobox",
    "aria-label": "Search",
    "aria-expanded": "false",
    "aria-controls": "results",
    autocomplete: "off",
    spellcheck: "false",
  });
  private readonly list = h("div", { class: "results", id: "results", role: "listbox", hidden: true });
  readonly element = h("div", { class: "search" }, this.input, this.list);
  private found: Found[] = [];
  private at = 0;

  constructor(private readonly app: App) {
    this.input.addEventListener("input", () => this.update());
    this.input.addEventListener("focus", () => this.update());
    this.input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    this.input.addEventListener("keydown", (e) => {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        this.at = Math.max(0, Math.min(this.found.length - 1, this.at + (e.key === "ArrowDown" ? 1 : -1)));
        this.mark();
        e.preventDefault();
      } else if (e.key === "Enter") this.choose(this.at);
      else if (e.key === "Escape") {
        this.close();
        this.input.blur();
      }
      e.stopPropagation();
    });
  }

  private close(): void {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }

  private update(): void {
    const { found, total } = search(this.app.recording, this.app.grouping.groups, this.input.value, SHOWN);
    this.found = found;
    this.at = 0;
    if (this.input.value.trim() === "") {
      this.close();
      return;
    }
    const rows = found.map((f, i) =>
      h(
        "div",
        {
          role: "option",
          id: `result-${i}`,
          onmousedown: (e: MouseEvent) => {
            e.preventDefault();
            this.choose(i);
          },
        },
        h("span", {}, f.text),
        h("span", { class: "aside" }, f.aside),
      ),
    );
    fill(
      this.list,
      ...rows,
      h(
        "p",
        { class: "none" },
        total === 0 ? "Nothing has this name." : total > found.length ? `${plural(total, "result")}; the first ${found.length} are listed.` : "",
      ),
    );
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark();
    announce(plural(total, "result"));
  }

  private mark(): void {
    [...this.list.querySelectorAll('[role="option"]')].forEach((row, i) => {
      row.setAttribute("aria-selected", String(i === this.at));
      if (i === this.at) {
        row.scrollIntoView({ block: "nearest" });
        this.input.setAttribute("aria-activedescendant", row.id);
      }
    });
  }

  private choose(i: number): void {
    const f = this.found[i];
    if (!f) return;
    this.close();
    this.input.blur();
    if (f.node >= 0) this.app.select(f.node);
    else {
      for (let key = f.group; key.includes(".");) {
        key = key.slice(0, key.lastIndexOf("."));
        if (key) this.app.open.add(key);
      }
      this.app.tell("open");
      this.app.selectGroup(f.group);
    }
  }
}
