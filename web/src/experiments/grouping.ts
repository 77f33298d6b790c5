/** What experiments are gathered by, and the filter that a group is. Pure. */
import { quoted } from "@/parts/expression";

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
