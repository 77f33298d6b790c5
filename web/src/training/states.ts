/** Displayed states and counts of experiments, as in `muster experiment list`. Pure. */
import type { Experiment } from "@/api/types";

/** Returns the displayed state: `pausing` while trials of a paused experiment still hold their slots. */
export function stateOf({ state, trials }: Pick<Experiment, "state" | "trials">): string {
  return state === "paused" && trials.running + trials.stopping > 0 ? "pausing" : state;
}

/** Returns the number of trials that have ended, however they ended; invalid ones are replaced and do not count. */
export function endedOf({ completed, stopped, error, cancelled }: Experiment["trials"]): number {
  return completed + stopped + error + cancelled;
}
