import type { Resource } from "@/api/types";
import { formatNumber } from "@/parts/format";

const BESIDE_NULL = { nan: NaN, infinity: Infinity, negative_infinity: -Infinity };
const NON_FINITE: ReadonlySet<unknown> = new Set(["NaN", "Infinity", "-Infinity"]);

/** Returns a measured value. JSON cannot represent NaN and infinities, so the API sends null with the name in another field. */
export function measured({ value, not_finite }: { value: number | null; not_finite?: Resource<"NotFinite"> | null }): number {
  return value ?? (not_finite ? BESIDE_NULL[not_finite] : NaN);
}

/** Returns a table cell as a number; the API sends NaN and infinities as strings. Null if the cell is not a number. */
export function numberIn(cell: unknown): number | null {
  return typeof cell === "number" ? cell : NON_FINITE.has(cell) ? Number(cell) : null;
}

/** Formats a hyperparameter of any type. */
export function sayValue(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatNumber(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Flattens a config or hyperparameters to dotted names; lists are kept as values. */
export function flattened(value: unknown, before = ""): Map<string, unknown> {
  const found = new Map<string, unknown>();
  if (typeof value !== "object" || value === null || Array.isArray(value)) return before ? found.set(before, value) : found;
  for (const [name, part] of Object.entries(value)) {
    for (const [path, one] of flattened(part, before ? `${before}.${name}` : name)) found.set(path, one);
  }
  return found;
}

export interface Difference {
  name: string;
  values: unknown[];
}

/** Returns the names at which several objects differ, with the value of each; undefined if one lacks it. */
export function differences(sides: readonly unknown[]): Difference[] {
  const flat = sides.map((side) => flattened(side));
  const names = new Set(flat.flatMap((side) => [...side.keys()]));
  return [...names].flatMap((name) => {
    const values = flat.map((side) => side.get(name));
    const first = JSON.stringify(values[0] ?? null);
    return values.every((value) => JSON.stringify(value ?? null) === first) ? [] : [{ name, values }];
  });
}
