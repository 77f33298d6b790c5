/** The priority that moves a trial to a position in the queue. Pure. */
import type { QueueEntry } from "./data";

export const FIRST = 1;
export const LAST = 99;

export interface Move {
  experiment: number;
  from: number;
  to: number;
}

/**
 * Returns the change of priority that moves trial `at` before the trial that is now at `to`, or to the end.
 *
 * Priorities are integers and apply to all trials of an experiment; the same priority is ordered by submission. So the experiment
 * gets the priority next to that of the last trial that it passes. Null if it passes none, or if the priority is already at its limit.
 */
export function planMove(entries: readonly QueueEntry[], at: number, to: number): Move | null {
  const moved = entries[at];
  if (moved === undefined) return null;
  const isUp = to <= at;
  const passed = (isUp ? entries.slice(to, at) : entries.slice(at + 1, to).reverse()).find((entry) => entry.experiment_number !== moved.experiment_number);
  if (passed === undefined) return null;
  const priority = Math.min(LAST, Math.max(FIRST, passed.priority + (isUp ? -1 : 1)));
  const isReal = isUp ? priority < moved.priority : priority > moved.priority;
  return isReal ? { experiment: moved.experiment_number, from: moved.priority, to: priority } : null;
}

/** Counts the waiting trials of other experiments whose priority lies between the old and the new one. */
export function passes(entries: readonly QueueEntry[], move: Move): number {
  const [low, high] = move.to < move.from ? [move.to, move.from] : [move.from, move.to];
  return entries.filter((entry) => entry.experiment_number !== move.experiment && entry.priority > low && entry.priority < high).length;
}
