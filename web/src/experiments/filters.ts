/** What a list of experiments is filtered by, by clicks. Pure. */
import { quoted } from "@/parts/expression";

export type Kind = "text" | "number" | "time" | "word" | "flag" | "texts";

export interface FilterField {
  name: string;
  label: string;
  kind: Kind;
  /** What a word can be. */
  words?: readonly string[];
}

export const STATES = ["submitted", "active", "paused", "stopping", "completed", "cancelled", "error", "rejected"] as const;
const METHODS = ["single", "random", "grid", "adaptive_asha", "hyperband", "pbt", "model", "custom"] as const;

/** What a list of experiments goes by. */
export const FIELDS: readonly FilterField[] = [
  { name: "name", label: "Name", kind: "text" },
  { name: "state", label: "State", kind: "word", words: STATES },
  { name: "labels", label: "Label", kind: "texts" },
  { name: "best.value", label: "Best value", kind: "number" },
  { name: "metric", label: "Metric", kind: "text" },
  { name: "searcher", label: "Search method", kind: "word", words: METHODS },
  { name: "owner", label: "Owner", kind: "text" },
  { name: "project", label: "Project", kind: "text" },
  { name: "workspace", label: "Workspace", kind: "text" },
  { name: "progress", label: "Progress", kind: "number" },
  { name: "trials.running", label: "Trials running", kind: "number" },
  { name: "trials.error", label: "Trials failed", kind: "number" },
  { name: "priority", label: "Priority", kind: "number" },
  { name: "number", label: "Number", kind: "number" },
  { name: "created_at", label: "Created", kind: "time" },
  { name: "ended_at", label: "Ended", kind: "time" },
];

const OPERATORS: Record<Kind, readonly string[]> = {
  text: ["contains", "=", "!="],
  texts: ["contains"],
  word: ["=", "!="],
  flag: ["="],
  number: ["<", "<=", ">", ">=", "=", "is absent", "is not absent"],
  time: [">=", "<", "is absent", "is not absent"],
};

/** How a field of this kind is compared. */
export function operatorsOf(kind: Kind): readonly string[] {
  return OPERATORS[kind];
}

/** One condition as the API reads it; null while the value is none of the field's kind. */
export function condition(field: FilterField, operator: string, value: string): string | null {
  if (operator.endsWith("absent")) return `${field.name} ${operator}`;
  const said = value.trim();
  if (said === "") return null;
  if (field.kind === "number") return Number.isFinite(Number(said)) ? `${field.name} ${operator} ${Number(said)}` : null;
  if (field.kind === "word" || field.kind === "flag") return `${field.name} ${operator} ${said}`;
  return `${field.name} ${operator} ${quoted(said)}`;
}
