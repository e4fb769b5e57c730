// dom.ts: makes elements. Text goes in as text nodes only, so nothing in a recording can become markup.

export type Child = Node | string | number | null | undefined | false;
export type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** h("button", { class: "plain", onclick: f }, "Text"): attributes, listeners (on...) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "object" ? child : String(child));
  }
}

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** A button that looks like a link; used wherever a node is named. */
export function nodeLink(text: string, choose: () => void, title = ""): HTMLButtonElement {
  return h("button", { class: "link", type: "button", title: title || null, onclick: choose }, text);
}

/** A bar with a share of its length filled. The figure beside it says the same in text. */
export function bar(share: number, kind = ""): HTMLElement {
  const inner = h("span", { class: `bar-fill ${kind}` });
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, inner);
}

export function empty(text: string, hint = ""): HTMLElement {
  return h("div", { class: "empty" }, h("p", {}, text), hint ? h("p", { class: "hint" }, hint) : null);
}

const announcer = h("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });

export function announce(text: string): void {
  if (!announcer.isConnected) document.body.append(announcer);
  if (announcer.textContent !== text) announcer.textContent = text;
}
