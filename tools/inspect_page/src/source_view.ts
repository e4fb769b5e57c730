// source_view.ts: a few lines of Python around one line, with light coloring. The text is split into tokens and shown as text, never run.
import { h, type Child } from "./dom.ts";

const TOKEN =
  /(#.*$)|("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|\b(\d[\d_.]*(?:e[+-]?\d+)?j?)\b|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False|self)\b/g;
const CLASSES = ["", "comment", "string", "number", "keyword"];

function tokens(line: string): Child[] {
  const out: Child[] = [];
  let end = 0;
  for (const match of line.slice(0, 2000).matchAll(TOKEN)) {
    out.push(line.slice(end, match.index));
    const kind = match.findIndex((text, i) => i > 0 && text !== undefined);
    out.push(h("span", { class: `py-${CLASSES[kind]}` }, match[0]));
    end = match.index + match[0].length;
  }
  out.push(line.slice(end, 2000));
  return out;
}

export function sourceView(lines: string[], line: number, around = 4): HTMLElement {
  const first = Math.max(1, line - around),
    last = Math.min(lines.length, line + around);
  const shown = lines.slice(first - 1, last);
  const indent = Math.min(...shown.filter((text) => text.trim()).map((text) => text.length - text.trimStart().length));
  const rows: HTMLElement[] = [];
  for (let n = first; n <= last; n++) {
    rows.push(
      h(
        "div",
        { class: n === line ? "code-line current" : "code-line", "aria-current": n === line ? "true" : null },
        h("span", { class: "number numbers" }, n),
        h("code", {}, ...tokens(lines[n - 1]!.slice(indent))),
      ),
    );
  }
  return h("div", { class: "source", tabindex: 0, role: "region", "aria-label": `Source, line ${line} highlighted` }, ...rows);
}
