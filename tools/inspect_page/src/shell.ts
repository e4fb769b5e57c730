// shell.ts: puts the panels in their places, and owns the header, the theme and the keys of the whole page.
import type { App, Theme } from "./app.ts";
import { fill, h } from "./dom.ts";
import { EnginePanel } from "./engine_panel.ts";
import { chooseFile, saveAs } from "./files.ts";
import { duration, plural } from "./format.ts";
import { GraphView } from "./graph_view.ts";
import { assess, type Assessment } from "./health.ts";
import { showHelp } from "./help.ts";
import { icon } from "./icons.ts";
import type { LiveBar } from "./live_bar.ts";
import { NodePanel } from "./node_panel.ts";
import { Outline } from "./outline.ts";
import type { Recording } from "./recording.ts";
import { SearchBox } from "./search_box.ts";
import { Tabs, type Tab } from "./tabs.ts";
import { Transport } from "./transport.ts";

export class Shell {
  readonly graph: GraphView;
  readonly top = h("header", { class: "top" });
  private readonly search: SearchBox;
  private readonly transport: Transport;
  private bottom!: Tabs;
  private liveBar: LiveBar | null = null;
  private readonly left: Tabs;
  private assessed: { recording: Recording; rows: number; result: Assessment } | null = null;

  constructor(
    private readonly app: App,
    private readonly startTour: () => void,
  ) {
    app.on(["theme"], () => applyTheme(app.theme)); // first, because the canvases read the colors from the style sheet
    const healthOfNodes = (): Uint8Array => this.health().ofNode;
    this.graph = new GraphView(app, healthOfNodes);
    this.search = new SearchBox(app);
    this.transport = new Transport(app);
    const outline = new Outline(app);
    this.left = new Tabs(
      "Left panel",
      [
        { id: "engine", title: "Engine", element: new EnginePanel(app).element },
        { id: "outline", title: "Outline", element: outline.element, shown: () => outline.update() },
      ],
      (id) => this.left.show(id),
    );
    this.node = new NodePanel(app, healthOfNodes);
  }

  private readonly node: NodePanel;

  health(): Assessment {
    const { recording } = this.app;
    if (this.assessed?.recording !== recording || this.assessed.rows !== recording.values.rows)
      this.assessed = { recording, rows: recording.values.rows, result: assess(recording) };
    return this.assessed.result;
  }

  /** Builds the page around the given tabs of the lower part; with the controls of a live pass where there is one. */
  mount(tabs: Tab[], liveBar: LiveBar | null): void {
    this.liveBar = liveBar;
    const { app } = this;
    this.bottom = new Tabs("Views", tabs, (id) => app.setTab(id));
    const lower = h("section", { class: "bottom", "aria-label": "Views of the recording" }, this.bottom.bar, this.bottom.body);
    lower.prepend(this.splitter(lower));
    document.body.append(
      this.top,
      ...(liveBar ? [liveBar.element] : []),
      h(
        "main",
        { class: "middle" },
        h("aside", { class: "side before", "aria-label": "Engine state" }, this.left.bar, this.left.body),
        this.graph.element,
        h("aside", { class: "side after", "aria-label": "Selected node" }, this.node.element),
      ),
      this.transport.element,
      lower,
    );
    this.left.show("engine");
    app.on(["tab"], () => this.bottom.show(app.tab));
    app.on(["recording", "compare", "grown"], () => {
      this.header();
      this.bottom.refresh();
    });
    app.on(["theme"], () => {
      this.header();
      this.bottom.refresh();
    });
    app.on(["event", "selection"], () => this.bottom.refreshShown());
    addEventListener("keydown", (e) => this.key(e));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.tell("theme"));
  }

  private splitter(panel: HTMLElement): HTMLElement {
    const line = h("div", {
      class: "splitter",
      role: "separator",
      tabindex: 0,
      "aria-orientation": "horizontal",
      "aria-label": "Height of the lower panel",
    });
    const set = (height: number): void => {
      panel.style.height = `${Math.max(90, Math.min(innerHeight - 260, height))}px`;
    };
    line.addEventListener("pointerdown", (e) => {
      line.setPointerCapture(e.pointerId);
    });
    line.addEventListener("pointermove", (e) => {
      if (line.hasPointerCapture(e.pointerId)) set(innerHeight - e.clientY);
    });
    line.addEventListener("keydown", (e) => {
      if (e.key !== "ArrowUp" && e.key !== "ArrowDown") return;
      set(panel.clientHeight + (e.key === "ArrowUp" ? 24 : -24));
      e.preventDefault();
      e.stopPropagation();
    });
    return line;
  }

  private header(): void {
    const { app } = this;
    const { recording } = app;
    const { meta, events } = recording;
    const time = events.length > 0 ? duration(events.time[events.length - 1]! - events.time[0]!) : "";
    const bad = this.health().firstBad;
    const facts = [
      plural(recording.nodes.rows, "node"),
      plural(recording.passes.rows, "pass", "passes"),
      time,
      meta.library ? `${meta.library} ${meta.libraryVersion}` : "",
      meta.truncated ? "cut short" : "",
    ];
    document.title = `${meta.program.split("/").pop() || app.name || "recording"} · Undertow inspect`;
    const tool = (text: string, title: string, action: () => void): HTMLButtonElement =>
      h("button", { type: "button", class: "tool", title, onclick: action }, text);
    const next: Record<Theme, Theme> = { auto: "dark", dark: "light", light: "auto" };
    fill(
      this.top,
      h("h1", {}, icon("logo", 18), "Undertow inspect"),
      h("span", { class: "program", title: meta.program }, meta.program.split("/").pop() || app.name),
      h("span", { class: "facts-line numbers" }, facts.filter(Boolean).join(" · ")),
      h("span", { class: "space" }),
      bad >= 0
        ? h(
            "button",
            { type: "button", class: "tool alert", title: "Go to the first gradient with a NaN or Inf (N)", onclick: () => this.goToFirstBad() },
            "First NaN or Inf",
          )
        : null,
      this.search.element,
      tool("Open", "Open another recording (.utrace)", () => chooseFile((r, name) => app.show(r, name))),
      tool("Compare", "Compare with a second recording", () =>
        chooseFile((r, name) => {
          app.compareWith(r, name);
          app.setTab("compare");
        }),
      ),
      this.exportMenu(),
      tool(`Theme: ${app.theme}`, "Light, dark, or as the system says (T)", () => app.setTheme(next[app.theme])),
      tool("Tour", "How a backward pass works, on this recording", this.startTour),
      tool("?", "Keys and help (?)", () => showHelp(this.liveBar !== null)),
    );
  }

  private exportMenu(): HTMLElement {
    const name = (this.app.recording.meta.program || "graph").replace(/[^\w.-]+/g, "_");
    const items = h(
      "div",
      { class: "menu-items", role: "menu", hidden: true },
      h(
        "button",
        {
          type: "button",
          role: "menuitem",
          onclick: () => {
            saveAs(new Blob([new XMLSerializer().serializeToString(this.graph.svg())], { type: "image/svg+xml" }), `${name}.svg`);
            close();
          },
        },
        "Graph as SVG",
      ),
      h(
        "button",
        {
          type: "button",
          role: "menuitem",
          onclick: () => {
            void this.graph.png().then((blob) => blob && saveAs(blob, `${name}.png`));
            close();
          },
        },
        "Graph as PNG",
      ),
      h(
        "button",
        {
          type: "button",
          role: "menuitem",
          onclick: () => {
            void navigator.clipboard?.writeText(location.href);
            close();
          },
        },
        "Copy link to this state",
      ),
    );
    const button = h(
      "button",
      {
        type: "button",
        class: "tool",
        "aria-haspopup": "menu",
        "aria-expanded": "false",
        onclick: () => {
          items.hidden = !items.hidden;
          button.setAttribute("aria-expanded", String(!items.hidden));
          if (!items.hidden) items.querySelector("button")!.focus();
        },
      },
      "Export",
    );
    const close = (): void => {
      items.hidden = true;
      button.setAttribute("aria-expanded", "false");
    };
    items.addEventListener("keydown", (e) => {
      if (e.key === "Escape") {
        close();
        button.focus();
        e.stopPropagation();
      }
    });
    items.addEventListener("focusout", (e) => {
      if (!items.contains(e.relatedTarget as Node | null) && e.relatedTarget !== button) close();
    });
    return h("div", { class: "menu" }, button, items);
  }

  goToFirstBad(): void {
    const row = this.health().firstBad;
    if (row < 0) return;
    const { values } = this.app.recording;
    this.app.seek(values.event[row]!);
    this.app.select(values.node[row]!);
    this.graph.show(values.node[row]!, true);
  }

  private key(e: KeyboardEvent): void {
    const target = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || target.closest("dialog")) return;
    const typing = target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
    if (
      typing ||
      (e.key === " " && target.matches("button, summary")) ||
      (target.matches("[role=treeitem], [role=tab]") && /^(Arrow.*|Home|End|Enter)$/.test(e.key))
    )
      return;
    const actions: Record<string, () => void> = {
      "/": () => this.search.input.focus(),
      "?": () => showHelp(this.liveBar !== null),
      n: () => this.goToFirstBad(),
      t: () => this.app.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
      "0": () => this.graph.fit(),
      "+": () => this.graph.zoomBy(1.4),
      "=": () => this.graph.zoomBy(1.4),
      "-": () => this.graph.zoomBy(1 / 1.4),
      E: () => this.graph.openAll(),
      C: () => this.app.setOpen([]),
      Escape: () => this.app.select(-1),
    };
    if (actions[e.key]) {
      actions[e.key]!();
      e.preventDefault();
      return;
    }
    if (this.liveBar?.key(e) || this.transport.key(e)) e.preventDefault();
  }
}

export function applyTheme(theme: Theme): void {
  const dark = theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
