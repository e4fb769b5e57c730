// graph_view.ts: the canvas with the graph: zoom, pan, hit test, keys, and drawing when something changed.
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomTransform } from "d3-zoom";
import type { App } from "./app.ts";
import { announce, empty, h } from "./dom.ts";
import { drawScene, Tallies, type Look } from "./draw_scene.ts";
import { layOut, type Box, type Scene } from "./layout.ts";
import { CanvasPainter, SvgPainter, textWidth } from "./painter.ts";
import { readPalette } from "./palette.ts";
import { Kind } from "./recording.ts";
import { STATUS_NAMES } from "./replay.ts";

const MARGIN = 36;

export class GraphView {
  readonly element = h("div", { class: "graph" });
  readonly stage = h("div", { class: "graph-stage" }); // the canvas, and what lies beside it
  scene!: Scene;
  private readonly canvas = h("canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": "Graph of the backward pass",
    "aria-roledescription": "graph",
    "aria-describedby": "graph-help",
  });
  private readonly behavior = zoom<HTMLCanvasElement, unknown>().scaleExtent([0.002, 4]);
  private transform: ZoomTransform = zoomIdentity;
  private readonly nothing = h(
    "div",
    { class: "graph-empty" },
    empty("No backward pass was recorded.", "Call loss.backward() inside the block of undertow.inspect.record()."),
  );
  private hover: Box | null = null;
  private tallies = new Tallies();
  private palette = readPalette();
  private waiting = false;
  private fitted = false;
  private width = 0;
  private height = 0;

  constructor(
    private readonly app: App,
    private readonly health: () => Uint8Array,
  ) {
    const tools = h(
      "div",
      { class: "graph-tools", role: "toolbar", "aria-label": "Graph" },
      this.tool("−", "Zoom out (-)", () => this.zoomBy(1 / 1.4)),
      this.tool("+", "Zoom in (+)", () => this.zoomBy(1.4)),
      this.tool("Fit", "Show the whole graph (0)", () => this.fit()),
      this.tool("Open all", "Open every module (Shift+E)", () => this.openAll()),
      this.tool("Close all", "Close every module (Shift+C)", () => this.app.setOpen([])),
    );
    const help = h(
      "p",
      { id: "graph-help", class: "visually-hidden" },
      "Arrow keys move along the edges. Enter opens or closes a module. The outline beside the graph lists the same nodes.",
    );
    this.stage.append(this.canvas, this.nothing);
    this.element.append(h("div", { class: "graph-bar" }, this.legend(), tools), this.stage, help);
    select(this.canvas)
      .call(
        this.behavior
          .filter((event: MouseEvent) => event.type === "wheel" || event.button === 0)
          .on("zoom", (event: { transform: ZoomTransform; sourceEvent: Event | null }) => {
            this.transform = event.transform;
            if (event.sourceEvent || app.viewpoint) this.noteViewpoint();
            if (event.sourceEvent) app.tell("moved");
            this.redraw();
          }),
      )
      .on("dblclick.zoom", null);
    this.canvas.addEventListener("pointermove", (e) => this.move(e));
    this.canvas.addEventListener("pointerleave", () => {
      this.hover = null;
      this.redraw();
    });
    this.canvas.addEventListener("click", (e) => this.click(e));
    this.canvas.addEventListener("dblclick", (e) => {
      const box = this.at(e);
      if (box && box.group > 0 && !this.isOnArrow(e, box)) this.toggle(box); // on the arrow the first click has done it
    });
    this.canvas.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    app.on(["recording"], () => {
      this.fitted &&= app.kept;
      this.arrange();
    });
    app.on(["view", "open"], () => this.arrange());
    app.on(["event"], () => {
      this.followEvent();
      this.redraw();
    });
    app.on(["look"], () => this.lookThere());
    app.on(["selection"], () => {
      this.describeSelection();
      this.redraw();
    });
    app.on(["theme"], () => {
      this.palette = readPalette();
      this.redraw();
    });
  }

  private tool(text: string, title: string, action: () => void): HTMLButtonElement {
    return h("button", { type: "button", title, "aria-label": text.length === 1 ? title : null, onclick: action }, text);
  }

  private legend(): HTMLElement {
    const names = ["idle", "waiting", "ready", "running", "done"];
    return h(
      "ul",
      { class: "legend", "aria-label": "States of a node" },
      ...names.map((name, i) => h("li", { class: `state-${name}` }, h("i", {}), STATUS_NAMES[i]!)),
    );
  }

  /** Computes boxes and lines again. The selected or last clicked box stays where it is on the screen. */
  arrange(): void {
    const anchor = this.anchorBox();
    const before = anchor ? this.transform.apply([anchor.x, anchor.y]) : null;
    const key = anchor && (anchor.node >= 0 ? anchor.node : this.app.grouping.groups[anchor.group]?.key);
    this.scene = layOut(this.app.recording, this.app.grouping, this.app.open, textWidth);
    this.hover = null;
    const { root } = this.scene;
    this.nothing.hidden = root.children.length > 0;
    this.behavior.translateExtent([
      [root.x - 4000, root.y - 4000],
      [root.x + root.w + 4000, root.y + root.h + 4000],
    ]);
    if (!this.fitted) this.start();
    else if (before) {
      const now =
        typeof key === "number"
          ? this.scene.boxOfNode[key]
          : this.scene.boxes.find((b) => b.group > 0 && this.app.grouping.groups[b.group]!.key === key);
      if (now) {
        const k = this.transform.k;
        this.setTransform(zoomIdentity.translate(before[0] - k * now.x, before[1] - k * now.y).scale(k));
      }
    }
    this.redraw();
  }

  private anchorBox(): Box | null {
    if (!this.scene) return null;
    if (this.hover && this.hover.group !== 0) return this.hover;
    if (this.app.node >= 0) return this.scene.boxOfNode[this.app.node] ?? null;
    return this.scene.root.children[0] ?? null;
  }

  private setTransform(transform: ZoomTransform): void {
    select(this.canvas).call(this.behavior.transform, transform);
  }

  fit(): void {
    const { root } = this.scene;
    const k = Math.min(1.25, (this.width - 2 * MARGIN) / Math.max(1, root.w), (this.height - 2 * MARGIN) / Math.max(1, root.h));
    this.setTransform(zoomIdentity.translate((this.width - k * root.w) / 2, (this.height - k * root.h) / 2).scale(k));
    if (this.app.viewpoint) this.app.tell("moved");
  }

  /** The first view: all of it if it can be read so, else its beginning. */
  private start(): void {
    if (this.width === 0) return;
    this.fitted = true;
    const { root } = this.scene;
    const whole = Math.min((this.width - 2 * MARGIN) / Math.max(1, root.w), (this.height - 2 * MARGIN) / Math.max(1, root.h));
    if (whole >= 0.55) {
      this.fit();
      return;
    }
    const k = Math.max(0.55, Math.min(1, (this.width - 2 * MARGIN) / Math.max(1, root.w)));
    const first = this.scene.root.children.reduce<Box | null>((top, box) => (top === null || box.y < top.y ? box : top), null);
    const center = first ? first.x + first.w / 2 : root.w / 2;
    this.setTransform(zoomIdentity.translate(this.width / 2 - k * center, MARGIN).scale(k));
  }

  zoomBy(factor: number): void {
    select(this.canvas).call(this.behavior.scaleBy, factor);
    this.noteViewpoint();
    this.app.tell("moved");
  }

  private noteViewpoint(): void {
    const [x, y] = this.transform.invert([this.width / 2, this.height / 2]);
    this.app.viewpoint = { x, y, scale: this.transform.k };
  }

  private lookThere(): void {
    const { viewpoint } = this.app;
    if (!viewpoint || !this.fitted) return; // the first drawing does it
    const { x, y, scale } = viewpoint;
    this.setTransform(zoomIdentity.translate(this.width / 2 - scale * x, this.height / 2 - scale * y).scale(scale));
  }

  openAll(): void {
    this.app.setOpen(this.app.grouping.groups.map((g) => g.key));
    this.fit();
  }

  /** Moves the view, as little as possible, so that a node is inside it. */
  show(node: number, center = false): void {
    const box = this.scene.boxOfNode[node];
    if (!box) return;
    let { k } = this.transform;
    if (center && k < 0.6) k = 0.8;
    const [left, top] = this.transform.apply([box.x, box.y]),
      [right, bottom] = this.transform.apply([box.x + box.w, box.y + box.h]);
    if (!center && left > 4 && right < this.width - 4 && top > 4 && bottom < this.height - 4) return;
    this.setTransform(zoomIdentity.translate(this.width / 2 - k * (box.x + box.w / 2), this.height / 2 - k * (box.y + box.h / 2)).scale(k));
  }

  private followEvent(): void {
    const { node, kind } = this.app.recording.events;
    const i = this.app.event;
    if (!this.app.follow || i < 0 || node[i]! < 0 || kind[i] === Kind.released) return;
    this.show(node[i]!);
  }

  private resize(): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    if (this.scene && !this.fitted) {
      const { viewpoint } = this.app;
      this.start();
      this.followEvent();
      if (this.app.node >= 0) this.show(this.app.node);
      this.app.viewpoint = viewpoint; // of the link
      this.lookThere();
    }
    this.draw();
  }

  redraw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  private look(scale: number, view: Look["view"]): Look {
    const health = this.health();
    this.tallies.update(this.scene, this.app, health);
    return { app: this.app, palette: this.palette, health, scale, view, hover: this.hover, tallies: this.tallies, selected: this.selected() };
  }

  private draw(): void {
    if (!this.scene || this.width === 0) return;
    const c = this.canvas.getContext("2d")!;
    const ratio = window.devicePixelRatio || 1;
    const { x, y, k } = this.transform;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = this.palette.background;
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    c.setTransform(ratio * k, 0, 0, ratio * k, ratio * x, ratio * y);
    c.lineJoin = c.lineCap = "round";
    drawScene(new CanvasPainter(c), this.scene, this.look(k, { x: -x / k, y: -y / k, w: this.width / k, h: this.height / k }));
    document.documentElement.dataset.drawn = String(Math.round(performance.now())); // tests and the benchmark wait for it
  }

  /** The whole graph as SVG, at full detail. */
  svg(): SVGSVGElement {
    const { root } = this.scene;
    const painter = new SvgPainter(
      root.x - MARGIN,
      root.y - MARGIN,
      root.w + 2 * MARGIN,
      root.h + 2 * MARGIN,
      this.palette.background,
      `Backward graph of ${this.app.recording.meta.program}`,
    );
    drawScene(painter, this.scene, this.look(1, { x: root.x - MARGIN, y: root.y - MARGIN, w: root.w + 2 * MARGIN, h: root.h + 2 * MARGIN }));
    return painter.svg;
  }

  /** The whole graph as an image, as large as a canvas may be. */
  png(): Promise<Blob | null> {
    const { root } = this.scene;
    const w = root.w + 2 * MARGIN,
      height = root.h + 2 * MARGIN;
    const k = Math.min(2, 16000 / Math.max(w, height), Math.sqrt(1e8 / (w * height)));
    const canvas = h("canvas", { width: Math.ceil(k * w), height: Math.ceil(k * height) });
    const c = canvas.getContext("2d")!;
    c.fillStyle = this.palette.background;
    c.fillRect(0, 0, canvas.width, canvas.height);
    c.setTransform(k, 0, 0, k, k * (MARGIN - root.x), k * (MARGIN - root.y));
    c.lineJoin = c.lineCap = "round";
    drawScene(new CanvasPainter(c), this.scene, this.look(k, { x: root.x - MARGIN, y: root.y - MARGIN, w, h: height }));
    return new Promise((done) => canvas.toBlob(done));
  }

  private at(e: MouseEvent): Box | null {
    const [x, y] = this.transform.invert([e.offsetX, e.offsetY]);
    let box = this.scene.root,
      found: Box | null = null;
    for (;;) {
      const inside: Box | undefined = box.children.find((b) => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h);
      if (!inside) return found;
      found = inside;
      if (!inside.open) return found;
      box = inside;
    }
  }

  private move(e: PointerEvent): void {
    const box = this.at(e);
    this.canvas.style.cursor = box ? "pointer" : "grab";
    if (box === this.hover) return;
    this.hover = box;
    this.redraw();
  }

  private click(e: MouseEvent): void {
    if (e.defaultPrevented) return;
    const box = this.at(e);
    if (!box) {
      this.app.select(-1);
      return;
    }
    if (box.node >= 0) {
      this.app.select(box.node, false);
      return;
    }
    this.app.selectGroup(this.app.grouping.groups[box.group]!.key);
    if (e.detail === 1 && this.isOnArrow(e, box)) this.toggle(box);
  }

  /** Whether the pointer is on the small arrow at the head of a group. */
  private isOnArrow(e: MouseEvent, box: Box): boolean {
    const [x, y] = this.transform.invert([e.offsetX, e.offsetY]);
    return x - box.x < 26 && y - box.y < 28;
  }

  private toggle(box: Box): void {
    this.app.toggle(this.app.grouping.groups[box.group]!.key);
  }

  private selected(): Box | null {
    const { node, group, grouping } = this.app;
    if (node >= 0) return this.scene.boxOfNode[node] ?? null;
    return group ? (this.scene.boxes.find((b) => b.group > 0 && grouping.groups[b.group]!.key === group) ?? null) : null;
  }

  private key(e: KeyboardEvent): void {
    if (e.shiftKey || e.ctrlKey || e.metaKey || e.altKey) return;
    const box = this.selected();
    if (e.key === "Enter") {
      if (box && box.group > 0) this.toggle(box);
      e.preventDefault();
    } else if (["ArrowUp", "ArrowDown"].includes(e.key)) {
      e.preventDefault();
      e.stopPropagation();
      const next = box ? this.neighbor(box, e.key === "ArrowDown") : this.scene.root.children[0];
      if (!next) return;
      if (next.node >= 0) this.app.select(next.node, false);
      else this.app.selectGroup(this.app.grouping.groups[next.group]!.key);
    }
  }

  /** The box that an edge leads to, downward (toward the leaves) or upward. */
  private neighbor(box: Box, down: boolean): Box | null {
    const { edges, out, into } = this.app.recording;
    const inside =
      box.node >= 0
        ? [box.node]
        : this.app.grouping.nodes.length > 0
          ? Array.from(this.app.grouping.nodes).filter((n) => this.scene.boxOfNode[n] === box)
          : [];
    for (const node of inside) {
      for (const edge of (down ? out : into).of(node)) {
        const next = this.scene.boxOfNode[(down ? edges.to : edges.from)[edge]!];
        if (next && next !== box) return next;
      }
    }
    return null;
  }

  private describeSelection(): void {
    const box = this.selected();
    if (!box) {
      this.canvas.setAttribute("aria-label", "Graph of the backward pass");
      return;
    }
    const { app } = this;
    const text =
      box.node >= 0
        ? `${app.recording.title(box.node)}, ${STATUS_NAMES[app.replay.status[box.node]!]}`
        : `${app.grouping.groups[box.group]!.label}, ${box.open ? "open" : "closed"}, ${app.grouping.groups[box.group]!.count} nodes`;
    this.canvas.setAttribute("aria-label", text);
    announce(text);
    if (app.node >= 0) this.show(app.node);
  }
}
