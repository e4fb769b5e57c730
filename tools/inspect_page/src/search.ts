// search.ts: finds nodes, modules, parameters and source lines by any part of their names. No drawing.
import { plural } from "./format.ts";
import type { Recording } from "./recording.ts";

export interface Found {
  node: number;
  group: string;
  text: string;
  aside: string;
}

/** Words may stand in any order; all must occur. "train.py:12" finds a line. Returns at most `limit`, and how many there are. */
export function search(
  recording: Recording,
  modules: { key: string; label: string; detail: string; count: number }[],
  query: string,
  limit: number,
): { found: Found[]; total: number } {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found: Found[] = [];
  if (words.length === 0) return { found, total: 0 };
  let total = 0;
  for (const group of modules) {
    const text = `${group.key} ${group.detail}`.toLowerCase();
    if (group.key && words.every((w) => text.includes(w))) {
      total++;
      if (found.length < limit / 2)
        found.push({ node: -1, group: group.key, text: group.key, aside: `${group.detail} · ${plural(group.count, "node")}` });
    }
  }
  // A test of all strings first: most nodes share few of them.
  const strings = recording.strings.map((s) => s.toLowerCase());
  const paths = recording.files.map((f) => f.path.toLowerCase());
  const { nodes, modules: rows } = recording;
  for (let n = 0; n < nodes.rows; n++) {
    const name = nodes.name[n]! < 0 ? "" : strings[nodes.name[n]!]!,
      leaf = nodes.leaf[n]! < 0 ? "" : strings[nodes.leaf[n]!]!;
    const path = nodes.module[n]! < 0 ? "" : (strings[rows.path[nodes.module[n]!]!] ?? "");
    const place = nodes.file[n]! < 0 ? "" : `${paths[nodes.file[n]!]}:${nodes.line[n]}`;
    if (!words.every((w) => name.includes(w) || leaf.includes(w) || path.includes(w) || place.includes(w) || w === `#${n}`)) continue;
    total++;
    if (found.length < limit)
      found.push({
        node: n,
        group: "",
        text: recording.title(n),
        aside: [recording.modulePath(nodes.module[n]!), recording.place(n)].filter(Boolean).join(" · "),
      });
  }
  return { found, total };
}
