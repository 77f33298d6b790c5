/** Which trial is the best, said by every part of the page alike. Pure. */
import type { ExperimentDetail } from "@/api/types";
import type { TrialRow } from "@/training/rows";
import { numberIn } from "@/training/values";

export interface Best {
  trial: string;
  trial_number: number;
  value: number;
  /** At which step; null where only the table of trials has told it so far. */
  step: number | null;
  others: Record<string, number>;
}

/** What the search says; until it has said any, the first of the rows, which are sorted by their best. */
export function bestOf({ best }: Pick<ExperimentDetail, "best">, rows: readonly TrialRow[]): Best | null {
  if (best) return best;
  const [first] = rows;
  const value = first ? numberIn(first.values.best) : null;
  return first && value !== null && Number.isFinite(value) ? { trial: first.trial, trial_number: first.number, value, step: null, others: {} } : null;
}
