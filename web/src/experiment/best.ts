/** The best trial, computed the same for all parts of the page. Pure. */
import type { BestCheckpoint, ExperimentDetail } from "@/api/types";
import type { TrialRow } from "@/training/rows";
import { numberIn } from "@/training/values";

export interface Best {
  trial: string;
  trial_number: number;
  value: number;
  /** Step of the best value; null while only the table of trials has reported it. */
  step: number | null;
  others: Record<string, number>;
  /** State of the checkpoint at that step; null while unknown. */
  checkpoint?: BestCheckpoint | null;
}

/** Returns a warning if the checkpoint of the best step is not saved; null if it is, or if nothing is known. */
export function checkpointNote(best: Best | null): string | null {
  const found = best?.checkpoint;
  if (!found || found.state === "saved") return null;
  if (!found.state) return "No checkpoint of this step is stored";
  const state = found.state === "uploading" ? "is still being uploaded" : `is ${found.state}`;
  return `The checkpoint of this step ${state}${found.reason ? `: ${found.reason}` : ""}`;
}

/** Returns the best trial of the search; until the search reports one, the first row, since rows are sorted by their best. */
export function bestOf({ best }: Pick<ExperimentDetail, "best">, rows: readonly TrialRow[]): Best | null {
  if (best) return best;
  const [first] = rows;
  const value = first ? numberIn(first.values.best) : null;
  return first && value !== null && Number.isFinite(value) ? { trial: first.trial, trial_number: first.number, value, step: null, others: {} } : null;
}
