/** Labels of experiments: filters and bulk edits. Pure. */
import { joined, quoted } from "@/parts/expression";

/** Narrows a filter to a label; returns it unchanged if it already contains the condition. */
export function withLabel(filter: string | undefined, label: string): string {
  const condition = `labels contains ${quoted(label)}`;
  return filter?.includes(condition) ? filter : joined(filter, condition);
}

/** The edit of a label: add it to all experiments, remove it from all, or leave it. */
export type LabelEdit = "add" | "remove" | "leave";

export interface LabelCount {
  label: string;
  /** Number of experiments with the label. */
  count: number;
}

/** Returns the labels of the experiments, most frequent first, and then the edited new ones. */
export function countLabels(experiments: readonly { labels: readonly string[] }[], edited: Iterable<string> = []): LabelCount[] {
  const counts = new Map<string, number>();
  for (const label of experiments.flatMap((one) => one.labels)) counts.set(label, (counts.get(label) ?? 0) + 1);
  const known = [...counts].map(([label, count]) => ({ label, count })).sort((a, b) => b.count - a.count || a.label.localeCompare(b.label));
  return [...known, ...[...edited].filter((label) => !counts.has(label)).map((label) => ({ label, count: 0 }))];
}

/** Returns the edit after a click. Labels of some experiments cycle through add, remove and leave; others toggle. */
export function nextEdit(edit: LabelEdit, count: number, of: number): LabelEdit {
  if (count === 0) return edit === "add" ? "leave" : "add";
  if (count === of) return edit === "remove" ? "leave" : "remove";
  return edit === "leave" ? "add" : edit === "add" ? "remove" : "leave";
}

/** Returns the labels with an edit. */
export function labelsTo(edits: ReadonlyMap<string, LabelEdit>, edit: LabelEdit): string[] {
  return [...edits].filter(([, one]) => one === edit).map(([label]) => label);
}
