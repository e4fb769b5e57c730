// format.ts: numbers and shapes as people read them. Every function gives text of a steady width class, so that columns align.

export function bytes(n: number): string {
  if (!Number.isFinite(n)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"]; // as in r.explain()
  let unit = 0;
  while (Math.abs(n) >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 ? Math.round(n) : n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0)} ${units[unit]}`;
}

export function duration(ns: number): string {
  if (!Number.isFinite(ns)) return "–";
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  const [value, unit] = size < 1e6 ? [ns / 1e3, "µs"] : size < 1e9 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
  return `${value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0)} ${unit}`;
}

export function shape(sizes: number[]): string {
  return sizes.length === 0 ? "scalar" : sizes.join("×");
}

const SHORT: Record<string, string> = {
  float32: "f32",
  float64: "f64",
  float16: "f16",
  bfloat16: "bf16",
  int64: "i64",
  int32: "i32",
  complex64: "c64",
  complex128: "c128",
};

export function dtype(name: string): string {
  return SHORT[name] ?? name;
}

/** A value of a gradient: four significant digits. */
export function value(x: number): string {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "Inf" : "−Inf";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e-3 && size < 1e5 ? String(Number(x.toPrecision(4))) : x.toExponential(2);
  return text
    .replace(/\.?0*e/, "e")
    .replace("e+", "e")
    .replaceAll("-", "−");
}

export function count(n: number): string {
  return n.toLocaleString("en-US");
}

export function plural(n: number, one: string, many = one + "s"): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(part === whole || part === 0 ? 0 : 1)} %` : "–";
}

/** "MulBackward0" as its two parts: what it is, and the suffix every node has. */
export function nameParts(name: string): [string, string] {
  const at = name.search(/Backward\d*$/);
  return at > 0 ? [name.slice(0, at), name.slice(at)] : [name, ""];
}
