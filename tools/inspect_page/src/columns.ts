// columns.ts: checked reading of the tables of a recording. A file may come from anywhere, so every length, type and index is tested here
// before any other code uses it.

/** The file cannot be shown; the message says why, in words for the person who opened it. */
export class DamagedRecording extends Error {}

export type Json = Record<string, unknown>;

export function object(value: unknown, what: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new DamagedRecording(`${what} is not an object`);
  return value as Json;
}

export function array(value: unknown, what: string, length = -1): unknown[] {
  if (!Array.isArray(value)) throw new DamagedRecording(`${what} is not a list`);
  if (length >= 0 && value.length !== length) throw new DamagedRecording(`${what} has ${value.length} entries; the table has ${length} rows`);
  return value;
}

/** One table of equally long columns. A table that is absent has no rows. */
export class Table {
  readonly rows: number;
  private readonly data: Json;

  constructor(
    whole: Json,
    readonly name: string,
    first: string,
  ) {
    this.data = whole[name] === undefined || whole[name] === null ? {} : object(whole[name], name);
    this.rows = this.data[first] === undefined ? 0 : array(this.data[first], `${name}.${first}`).length;
  }

  column(key: string): unknown[] | null {
    const value = this.data[key];
    return value === undefined ? null : array(value, `${this.name}.${key}`, this.rows);
  }

  /** Row numbers of another table: −1 (none) up to limit − 1. */
  index(key: string, limit: number): Int32Array {
    const out = new Int32Array(this.rows).fill(-1);
    const from = this.column(key);
    if (from === null) return out;
    for (let i = 0; i < out.length; i++) {
      const v = from[i];
      if (v === null) continue;
      if (typeof v !== "number" || !(v >= -1 && v < limit) || v !== Math.floor(v)) this.refuse(key, i, v, `a number from -1 to ${limit - 1}`);
      out[i] = v as number;
    }
    return out;
  }

  /** Whole numbers; null becomes `missing`. */
  integers(key: string, missing = -1): Int32Array {
    const out = new Int32Array(this.rows).fill(missing);
    const from = this.column(key);
    if (from === null) return out;
    for (let i = 0; i < out.length; i++) {
      const v = from[i];
      if (v === null) continue;
      if (typeof v === "boolean") {
        out[i] = v ? 1 : 0;
        continue;
      }
      if (typeof v !== "number" || !Number.isFinite(v)) this.refuse(key, i, v, "a whole number");
      out[i] = Math.max(-2147483648, Math.min(2147483647, v as number));
    }
    return out;
  }

  /** Numbers; null and an absent column become NaN. The writer spells NaN and the infinities as strings where JSON has no number for them. */
  numbers(key: string): Float64Array {
    const out = new Float64Array(this.rows).fill(NaN);
    const from = this.column(key);
    if (from === null) return out;
    for (let i = 0; i < out.length; i++) {
      const v = from[i];
      if (v === null) continue;
      if (typeof v === "number") out[i] = v;
      else if (v === "inf" || v === "Infinity") out[i] = Infinity;
      else if (v === "-inf" || v === "-Infinity") out[i] = -Infinity;
      else if (v !== "nan" && v !== "NaN") this.refuse(key, i, v, "a number");
    }
    return out;
  }

  /** Lists, one per row; null and an absent column become empty lists. */
  lists(key: string): unknown[][] {
    const from = this.column(key);
    if (from === null) return Array.from({ length: this.rows }, () => []);
    return from.map((v, i) => (v === null ? [] : array(v, `${this.name}.${key}[${i}]`)));
  }

  refuse(key: string, row: number, got: unknown, expected: string): never {
    throw new DamagedRecording(`${this.name}.${key}[${row}] is ${JSON.stringify(got)?.slice(0, 60)}; expected ${expected}`);
  }
}

/** Rows grouped by a key: the rows of key k are items[start[k]] up to items[start[k + 1]]. */
export class Grouped {
  readonly start: Int32Array;
  readonly items: Int32Array;

  constructor(keys: Int32Array, count: number, length = keys.length) {
    this.start = new Int32Array(count + 1);
    for (let i = 0; i < length; i++) if (keys[i]! >= 0) this.start[keys[i]! + 1]!++;
    for (let k = 0; k < count; k++) this.start[k + 1]! += this.start[k]!;
    this.items = new Int32Array(this.start[count]!);
    const next = this.start.slice();
    for (let i = 0; i < length; i++) if (keys[i]! >= 0) this.items[next[keys[i]!]!++] = i;
  }

  of(key: number): Int32Array {
    return this.items.subarray(this.start[key]!, this.start[key + 1]!);
  }
}
