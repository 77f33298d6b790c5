/** Names and totals of usage and cost. Pure. */
import type { MachineCost, UsageKey, UsageRow } from "./data";

export interface Total {
  name: string;
  hours: number;
  cost: number;
}

export type Measure = "hours" | "cost";

/** Keys that usage can be grouped by, besides days. */
export const USAGE_KEYS = [
  { value: "workspace", label: "Workspace" },
  { value: "user", label: "User" },
  { value: "experiment", label: "Experiment" },
  { value: "label", label: "Label" },
  { value: "pool", label: "Pool" },
  { value: "tenant", label: "Tenant" },
] as const satisfies readonly { value: UsageKey | "label"; label: string }[];

export type UsageBy = (typeof USAGE_KEYS)[number]["value"];

/** Keys that machine costs can be grouped by. */
export const COST_KEYS = [
  { value: "pool", label: "Pool" },
  { value: "kind", label: "Kind" },
  { value: "purchase", label: "Purchase" },
] as const;

export type CostBy = (typeof COST_KEYS)[number]["value"];

export function usageName(row: UsageRow, by: UsageBy): string {
  if (by === "experiment") return row.experiment == null ? "deleted experiments" : `${row.experiment} ${row.experiment_name ?? ""}`.trimEnd();
  if (by === "label") return row.label ?? "no label";
  return row[by] || "unknown";
}

export function costName(row: MachineCost, by: CostBy): string {
  return by === "purchase" ? row.purchase.replace("_", " ") : row[by];
}

/** Sums hours and cost by name, sorted by `first` descending, then by name. */
export function totalsOf(rows: readonly Total[], first: Measure): Total[] {
  const found = new Map<string, Total>();
  for (const { name, hours, cost } of rows) {
    const before = found.get(name) ?? { name, hours: 0, cost: 0 };
    found.set(name, { name, hours: before.hours + hours, cost: before.cost + cost });
  }
  return [...found.values()].sort((one, other) => other[first] - one[first] || (one.name < other.name ? -1 : 1));
}

/** Returns the first and last of `count` days that end with the day of `now`, in UTC. */
export function lastDays(count: number, now: Date): [string, string] {
  const dayOf = (moment: number) => new Date(moment).toISOString().slice(0, 10);
  return [dayOf(now.getTime() - (count - 1) * 86_400_000), dayOf(now.getTime())];
}
