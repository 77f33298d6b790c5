import type { Resource } from "@/api/types";
import { formatNumber } from "@/parts/format";

const BESIDE_NULL = { nan: NaN, infinity: Infinity, negative_infinity: -Infinity };
const WORDS: ReadonlySet<unknown> = new Set(["NaN", "Infinity", "-Infinity"]);

/** What was measured, whatever number it is: JSON has no word for NaN and the infinities, and the API says beside a null which it was. */
export function measured({ value, not_finite }: { value: number | null; not_finite?: Resource<"NotFinite"> | null }): number {
  return value ?? (not_finite ? BESIDE_NULL[not_finite] : NaN);
}

/** A cell of a table as a number, which the API says in words where JSON has none for it; null where it is none. */
export function numberIn(cell: unknown): number | null {
  return typeof cell === "number" ? cell : WORDS.has(cell) ? Number(cell) : null;
}

/** A hyperparameter as text, whatever it is. */
export function sayValue(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatNumber(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A config or hyperparameters as rows of dotted names; lists stay whole. */
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

/** The names at which several differ, with the value of each; undefined where one has none. */
export function differences(sides: readonly unknown[]): Difference[] {
  const flat = sides.map((side) => flattened(side));
  const names = new Set(flat.flatMap((side) => [...side.keys()]));
  return [...names].flatMap((name) => {
    const values = flat.map((side) => side.get(name));
    const first = JSON.stringify(values[0] ?? null);
    return values.every((value) => JSON.stringify(value ?? null) === first) ? [] : [{ name, values }];
  });
}
