// link.ts: the state of the page as the fragment of its address, so that a link leads to what one sees.
import type { App, Theme } from "./app.ts";

const THEMES = ["light", "dark", "auto"];

function stateToHash(app: App): string {
  const parts = new URLSearchParams();
  parts.set("event", String(app.event));
  if (app.node >= 0) parts.set("node", String(app.node));
  if (app.group) parts.set("module", app.group);
  if (app.tab !== "timeline") parts.set("tab", app.tab);
  if (app.theme !== "auto") parts.set("theme", app.theme);
  if (app.viewpoint) parts.set("view", [app.viewpoint.x.toFixed(1), app.viewpoint.y.toFixed(1), app.viewpoint.scale.toPrecision(4)].join(","));
  // Opening everything at 100,000 nodes would make an address nobody can send.
  const open = [...app.open];
  if (open.length <= 200) parts.set("open", open.map(encodeURIComponent).join(","));
  return parts.toString();
}

/** Applies what the fragment says; unknown or wrong parts are ignored. */
export function hashToState(app: App, hash: string): void {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const theme = parts.get("theme");
  if (theme && THEMES.includes(theme)) app.setTheme(theme as Theme);
  const open = parts.get("open");
  if (open !== null) {
    const keys: string[] = [];
    for (const part of open.split(",")) {
      try {
        if (part) keys.push(decodeURIComponent(part));
      } catch {
        /* not ours */
      }
    }
    app.setOpen(keys);
  }
  const event = Number(parts.get("event") ?? NaN);
  if (Number.isInteger(event)) app.seek(event);
  const node = Number(parts.get("node") ?? NaN);
  if (Number.isInteger(node) && node >= 0 && node < app.recording.nodes.rows) app.select(node, false);
  else if (parts.get("module")) app.selectGroup(parts.get("module")!);
  const [x, y, scale] = (parts.get("view") ?? "").split(",").map(Number);
  if ([x, y, scale].every((part) => Number.isFinite(part)) && scale! > 0) {
    app.viewpoint = { x: x!, y: y!, scale: scale! };
    app.tell("look");
  }
  const tab = parts.get("tab");
  if (tab) app.setTab(tab);
}

export function setAddress(fragment: string): void {
  try {
    history.replaceState(null, "", "#" + fragment);
  } catch {
    /* a frame in a notebook has no address of its own */
  }
}

/** Keeps the address up to date, a little after the last change. */
export function keepAddress(app: App): void {
  let timer = 0;
  const later = (): void => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      if (app.playing || location.hash.startsWith("#tour")) return;
      setAddress(stateToHash(app));
    }, 300);
  };
  app.on(["moved", "event", "selection", "open", "tab", "theme", "playing"], later);
}
