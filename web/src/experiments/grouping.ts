/** What experiments are gathered by, and the filter that a group is. Pure. */
import { joined, quoted } from "@/parts/expression";
import type { ListSearch } from "./search";

export const GROUPINGS = {
  owner: { label: "Owner", none: "no owner" },
  workspace: { label: "Workspace", none: "no workspace" },
  project: { label: "Project", none: "no project" },
  state: { label: "State", none: "no state" },
  searcher: { label: "Method", none: "no method" },
  metric: { label: "Metric", none: "no metric" },
  labels: { label: "Label", none: "no label" },
} as const;

export type Grouping = keyof typeof GROUPINGS;

/** Reads it from an address that anybody may have typed. */
export function readGrouping(value: unknown): Grouping | undefined {
  return typeof value === "string" && Object.hasOwn(GROUPINGS, value) ? (value as Grouping) : undefined;
}

/** What all of a group meet, and no others do. */
export function conditionOf(by: Grouping, value: string | null): string {
  if (value === null) return `${by} is absent`;
  return `${by} ${by === "labels" ? "contains" : "="} ${quoted(value)}`;
}

/** What a group is called. */
export function nameOf(by: Grouping, value: string | null): string {
  if (value === null) return GROUPINGS[by].none;
  return by === "searcher" ? value.replaceAll("_", " ") : value;
}

/** The address with one group opened, or closed where it is open. */
export function turned(search: ListSearch, value: string | null): ListSearch {
  const open = search.open ?? [];
  const next = open.includes(value) ? open.filter((one) => one !== value) : [...open, value];
  return { ...search, open: next.length > 0 ? next : undefined };
}

/** The list of one group alone. */
export function alone(search: ListSearch, by: Grouping, value: string | null): ListSearch {
  return { ...search, grouped: undefined, open: undefined, filter: joined(search.filter, conditionOf(by, value)) };
}
