/** Fields and operators of the filter dialog. Pure. */
import { quoted } from "@/parts/expression";

export type Kind = "text" | "number" | "time" | "word" | "flag" | "texts";

export interface FilterField {
  name: string;
  label: string;
  kind: Kind;
  /** The possible values of a `word`. */
  values?: readonly string[];
}

export const STATES = ["submitted", "active", "paused", "stopping", "completed", "cancelled", "error", "rejected"] as const;
const METHODS = ["single", "random", "grid", "adaptive_asha", "hyperband", "pbt", "model", "custom"] as const;

/** The fields that experiments can be filtered by. */
export const FIELDS: readonly FilterField[] = [
  { name: "name", label: "Name", kind: "text" },
  { name: "state", label: "State", kind: "word", values: STATES },
  { name: "labels", label: "Label", kind: "texts" },
  { name: "best.value", label: "Best value", kind: "number" },
  { name: "metric", label: "Metric", kind: "text" },
  { name: "searcher", label: "Search method", kind: "word", values: METHODS },
  { name: "owner", label: "Owner", kind: "text" },
  { name: "project", label: "Project", kind: "text" },
  { name: "workspace", label: "Workspace", kind: "text" },
  { name: "progress", label: "Progress", kind: "number" },
  { name: "trials.running", label: "Trials running", kind: "number" },
  { name: "trials.error", label: "Trials in error", kind: "number" },
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

/** Returns the operators of a kind of field. */
export function operatorsOf(kind: Kind): readonly string[] {
  return OPERATORS[kind];
}

/** Returns a condition in the filter language; null while the value does not fit the field. */
export function condition(field: FilterField, operator: string, value: string): string | null {
  if (operator.endsWith("absent")) return `${field.name} ${operator}`;
  const trimmed = value.trim();
  if (trimmed === "") return null;
  if (field.kind === "number") return Number.isFinite(Number(trimmed)) ? `${field.name} ${operator} ${Number(trimmed)}` : null;
  if (field.kind === "word" || field.kind === "flag") return `${field.name} ${operator} ${trimmed}`;
  return `${field.name} ${operator} ${quoted(trimmed)}`;
}
