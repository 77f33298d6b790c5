/** Where a trial is put in the queue, and which priority its experiment takes for that. Pure. */
import type { QueueEntry } from "./data";

export const FIRST = 1;
export const LAST = 99;

export interface Move {
  experiment: number;
  from: number;
  to: number;
}

/**
 * The change by which trial `at` comes to stand before the one that is now at `to`, or behind all where `to` is the end.
 *
 * Priorities are whole and are an experiment's: all its trials go with it, and among equals the one that was submitted first goes first. So it
 * takes the priority next to that of the last one it passes, and no more; none where it passes nobody, or has no room left.
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

/** How many waiting trials of other experiments it passes for certain: those whose priority lies between the two. */
export function passes(entries: readonly QueueEntry[], move: Move): number {
  const [low, high] = move.to < move.from ? [move.to, move.from] : [move.from, move.to];
  return entries.filter((entry) => entry.experiment_number !== move.experiment && entry.priority > low && entry.priority < high).length;
}
