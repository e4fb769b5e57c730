// health.ts: which gradients are NaN, infinite, exploding, vanishing or zero, by stated rules, and which bad one came first. No drawing.
import { NodeKind, type Recording } from "./recording.ts";

export const Health = { unknown: 0, fine: 1, zero: 2, vanishing: 3, exploding: 4, inf: 5, nan: 6 } as const;
export const HEALTH_NAMES = ["not measured", "fine", "all zero", "vanishing", "exploding", "Inf", "NaN"];
const MANY = 4; // parameters in a pass, before one of them can be unusual
const HUGE = 1e10;
export const HEALTH_RULE =
  "By the root mean square of a gradient. A parameter's gradient explodes if it is more than 1,000 times the median of the parameters in the same pass, and vanishes " +
  "if it is less than a ten-thousandth of it; this needs at least four parameters. Any gradient above 1e10 explodes.";

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

/** The usual size of a parameter's gradient, by pass. */
function medians(recording: Recording): Map<number, number> {
  const sizes = new Map<number, number[]>();
  for (let row = 0; row < recording.values.rows; row++) {
    const size = rootMeanSquare(recording, row);
    const node = recording.values.node[row]!;
    if (!(size > 0 && size < Infinity) || node < 0 || recording.nodes.kind[node] !== NodeKind.accumulate) continue;
    const pass = passOfValue(recording, row);
    const list = sizes.get(pass);
    if (list) list.push(size);
    else sizes.set(pass, [size]);
  }
  const out = new Map<number, number>();
  for (const [pass, list] of sizes) if (list.length >= MANY) out.set(pass, list.sort((a, b) => a - b)[Math.floor(list.length / 2)]!);
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
    const node = values.node[row]!;
    const usual = node >= 0 && nodes.kind[node] === NodeKind.accumulate ? (median.get(passOfValue(recording, row)) ?? 0) : 0;
    let health: number = Health.fine;
    if (values.nan[row]! > 0) health = Health.nan;
    else if (values.inf[row]! > 0) health = Health.inf;
    else if (values.size[row]! > 0 && (values.zeros[row] === values.size[row] || size === 0)) health = Health.zero;
    else if (size > HUGE || (usual > 0 && size > 1e3 * usual)) health = Health.exploding;
    else if (usual > 0 && size < 1e-4 * usual) health = Health.vanishing;
    ofValue[row] = health;
    if (node >= 0) ofNode[node] = Math.max(ofNode[node]!, health);
    if (health >= Health.inf && (firstBad < 0 || values.event[row]! < values.event[firstBad]!)) firstBad = row;
  }
  const counts = HEALTH_NAMES.map(() => 0);
  for (const health of ofNode) counts[health]!++;
  return { ofValue, ofNode, firstBad, counts };
}
