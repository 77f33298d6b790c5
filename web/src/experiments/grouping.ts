/** Groupings of experiments and the filter of each group. Pure. */
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

/** Reads a grouping from a URL, which may hold anything. */
export function readGrouping(value: unknown): Grouping | undefined {
  return typeof value === "string" && Object.hasOwn(GROUPINGS, value) ? (value as Grouping) : undefined;
}

/** Returns the filter that exactly the experiments of a group match. */
export function conditionOf(by: Grouping, value: string | null): string {
  if (value === null) return `${by} is absent`;
  return `${by} ${by === "labels" ? "contains" : "="} ${quoted(value)}`;
}

/** Returns the title of a group. */
export function nameOf(by: Grouping, value: string | null): string {
  if (value === null) return GROUPINGS[by].none;
  return by === "searcher" ? value.replaceAll("_", " ") : value;
}
