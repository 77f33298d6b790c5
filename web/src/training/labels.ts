/** Labels of experiments: how a list is narrowed by one, and what several experiments have in common. Pure. */
import { joined, quoted } from "@/parts/expression";

/** The filter narrowed to who has the label; as it is where it says so already. */
export function withLabel(filter: string | undefined, label: string): string {
  const said = `labels contains ${quoted(label)}`;
  return filter?.includes(said) ? filter : joined(filter, said);
}

/** What is wished for a label: that all have it, that none has it, or that it stays with those that have it. */
export type Wish = "add" | "remove" | "leave";

export interface LabelStanding {
  label: string;
  /** So many of them have it. */
  count: number;
}

/** Every label that one of them has, the most frequent first, and then those that are wished for. */
export function standings(experiments: readonly { labels: readonly string[] }[], wished: Iterable<string> = []): LabelStanding[] {
  const counts = new Map<string, number>();
  for (const label of experiments.flatMap((one) => one.labels)) counts.set(label, (counts.get(label) ?? 0) + 1);
  const known = [...counts].map(([label, count]) => ({ label, count })).sort((a, b) => b.count - a.count || a.label.localeCompare(b.label));
  return [...known, ...[...wished].filter((label) => !counts.has(label)).map((label) => ({ label, count: 0 }))];
}

/** What the next press on a label wishes. One that only some have goes round by way of all and none; others turn. */
export function pressed(wish: Wish, count: number, of: number): Wish {
  if (count === 0) return wish === "add" ? "leave" : "add";
  if (count === of) return wish === "remove" ? "leave" : "remove";
  return wish === "leave" ? "add" : wish === "add" ? "remove" : "leave";
}

/** The labels of that wish. */
export function wishedFor(wishes: ReadonlyMap<string, Wish>, wish: Wish): string[] {
  return [...wishes].filter(([, one]) => one === wish).map(([label]) => label);
}
