// health.ts: which gradients are NaN, infinite, exploding, vanishing or zero, by stated rules, and which bad one came first. No drawing.
import { NodeKind, type Recording } from "./recording.ts";

export const Health = { unknown: 0, fine: 1, zero: 2, vanishing: 3, exploding: 4, inf: 5, nan: 6 } as const;
export const HEALTH_NAMES = ["not measured", "fine", "all zero", "vanishing", "exploding", "Inf", "NaN"];
export const HEALTH_RULE =
  "Exploding: the root mean square is more than 1,000 times the median of the parameters' gradients in the same pass. Vanishing: less than a ten-thousandth of it. " +
  "Without parameters, the median of all gradients counts.";

export interface Assessment {
  ofValue: Uint8Array; // one per row of values
  ofNode: Uint8Array; // the worst of its gradients
  firstBad: number; // row of values with the first NaN or Inf, −1
  counts: number[]; // nodes by health
}

export function rootMeanSquare(recording: Recording, row: number): number {
  const { norm, size } = recording.values;
  return norm[row]! / Math.sqrt(Math.max(1, size[row]!));
}

export function passOfValue(recording: Recording, row: number): number {
  const event = recording.values.event[row]!;
  return event < 0 ? -1 : recording.events.pass[event]!;
}

function medians(recording: Recording): Map<number, number> {
  const all = new Map<number, number[]>(), leaves = new Map<number, number[]>();
  for (let row = 0; row < recording.values.rows; row++) {
    const size = rootMeanSquare(recording, row);
    if (!Number.isFinite(size) || size === 0) continue;
    const pass = passOfValue(recording, row);
    const node = recording.values.node[row]!;
    for (const [into, wanted] of [[all, true], [leaves, node >= 0 && recording.nodes.kind[node] === NodeKind.accumulate]] as const) {
      if (!wanted) continue;
      const list = into.get(pass);
      if (list) list.push(size);
      else into.set(pass, [size]);
    }
  }
  const out = new Map<number, number>();
  for (const [pass, list] of all) {
    const sorted = (leaves.get(pass) ?? list).sort((a, b) => a - b);
    out.set(pass, sorted[Math.floor(sorted.length / 2)]!);
  }
  return out;
}

export function assess(recording: Recording): Assessment {
  const { values, nodes } = recording;
  const ofValue = new Uint8Array(values.rows);
  const ofNode = new Uint8Array(nodes.rows);
  const median = medians(recording);
  let firstBad = -1;
  for (let row = 0; row < values.rows; row++) {
    const size = rootMeanSquare(recording, row);
    const usual = median.get(passOfValue(recording, row)) ?? 0;
    let health: number = Health.fine;
    if (values.nan[row]! > 0) health = Health.nan;
    else if (values.inf[row]! > 0) health = Health.inf;
    else if (values.size[row]! > 0 && (values.zeros[row] === values.size[row] || size === 0)) health = Health.zero;
    else if (usual > 0 && size > 1e3 * usual) health = Health.exploding;
    else if (usual > 0 && size < 1e-4 * usual) health = Health.vanishing;
    ofValue[row] = health;
    const node = values.node[row]!;
    if (node >= 0) ofNode[node] = Math.max(ofNode[node]!, health);
    if (health >= Health.inf && (firstBad < 0 || values.event[row]! < values.event[firstBad]!)) firstBad = row;
  }
  const counts = HEALTH_NAMES.map(() => 0);
  for (const health of ofNode) counts[health]!++;
  return { ofValue, ofNode, firstBad, counts };
}
