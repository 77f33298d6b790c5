import { formatNumber } from "@/parts/format";

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
