/** Which trial is the best, said by every part of the page alike. Pure. */
import type { BestCheckpoint, ExperimentDetail } from "@/api/types";
import type { TrialRow } from "@/training/rows";
import { numberIn } from "@/training/values";

export interface Best {
  trial: string;
  trial_number: number;
  value: number;
  /** At which step; null where only the table of trials has told it so far. */
  step: number | null;
  others: Record<string, number>;
  /** What became of the checkpoint at that step; null while nobody has said. */
  checkpoint?: BestCheckpoint | null;
}

/** What a reader of the best step must know of its checkpoint; null where it is saved, or where nothing is known. */
export function checkpointNote(best: Best | null): string | null {
  const found = best?.checkpoint;
  if (!found || found.state === "saved") return null;
  if (!found.state) return "no checkpoint of this step is stored";
  const said = found.state === "uploading" ? "is still being uploaded" : `is ${found.state}`;
  return `the checkpoint of this step ${said}${found.reason ? `: ${found.reason}` : ""}`;
}

/** What the search says; until it has said any, the first of the rows, which are sorted by their best. */
export function bestOf({ best }: Pick<ExperimentDetail, "best">, rows: readonly TrialRow[]): Best | null {
  if (best) return best;
  const [first] = rows;
  const value = first ? numberIn(first.values.best) : null;
  return first && value !== null && Number.isFinite(value) ? { trial: first.trial, trial_number: first.number, value, step: null, others: {} } : null;
}
