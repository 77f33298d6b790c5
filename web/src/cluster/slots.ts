/** Maps the caller's running trials to the slots of workers. Pure. */
import type { QueueEntry, Worker } from "./data";

export interface Cell {
  /** `other`: used by another tenant, or being released; the API reports no details. */
  kind: "own" | "other" | "free" | "off";
  slot: number;
  /** The trials that use the slot; several if they share it. */
  owners: readonly QueueEntry[];
  /** The slot accepts no new work, whatever runs on it now. */
  isDisabled: boolean;
}

/** Returns the running trials of each worker, by slot. */
export function heldBy(running: readonly QueueEntry[]): Map<string, Map<number, QueueEntry[]>> {
  const found = new Map<string, Map<number, QueueEntry[]>>();
  for (const entry of running) {
    for (const { worker, slots } of entry.held ?? []) {
      const there = found.get(worker) ?? new Map<number, QueueEntry[]>();
      found.set(worker, there);
      for (const slot of slots) there.set(slot, [...(there.get(slot) ?? []), entry]);
    }
  }
  return found;
}

/** Returns a worker's slots in order. The API reports only how many slots other tenants use, so they are drawn on the first that the caller does not use. */
export function cellsOf(worker: Worker, slotUse: ReadonlyMap<number, readonly QueueEntry[]> = new Map()): Cell[] {
  const disabled = new Set(worker.disabled_slots);
  let others = Math.max(0, worker.used_slots - slotUse.size);
  return Array.from({ length: worker.slots }, (_, slot): Cell => {
    const owners = slotUse.get(slot) ?? [];
    const isDisabled = disabled.has(slot);
    if (owners.length > 0) return { kind: "own", slot, owners, isDisabled };
    if (others > 0) {
      others -= 1;
      return { kind: "other", slot, owners, isDisabled };
    }
    return { kind: isDisabled ? "off" : "free", slot, owners, isDisabled };
  });
}

export const COLOURS = 8;

/** Assigns a colour from 1 to 8 to each running experiment: the least used one, kept as long as the experiment runs. */
export function coloursOf(running: readonly QueueEntry[], before: ReadonlyMap<number, number> = new Map()): Map<number, number> {
  const numbers = [...new Set(running.map((entry) => entry.experiment_number))].sort((one, other) => one - other);
  const colours = new Map<number, number>();
  for (const number of numbers) {
    const had = before.get(number);
    if (had !== undefined) colours.set(number, had);
  }
  for (const number of numbers) {
    if (colours.has(number)) continue;
    const taken = new Map<number, number>();
    for (const colour of colours.values()) taken.set(colour, (taken.get(colour) ?? 0) + 1);
    const free = Array.from({ length: COLOURS }, (_, at) => at + 1).sort((one, other) => (taken.get(one) ?? 0) - (taken.get(other) ?? 0) || one - other);
    colours.set(number, free[0] ?? 1);
  }
  return colours;
}

/** Counts slots by kind. */
export function countCells(cells: readonly Cell[]): Record<Cell["kind"], number> {
  const counts = { own: 0, other: 0, free: 0, off: 0 };
  for (const cell of cells) counts[cell.kind] += 1;
  return counts;
}

const ISOLATION: Record<string, string> = {
  sandbox: "sandbox",
  user: "one system user, for a single trusted tenant only",
  none: "none, for a single trusted tenant only",
};

/** Describes the isolation of runs on a worker. */
export function isolationOf(worker: Worker): string {
  if (!worker.isolation) return "not reported yet";
  const kind = ISOLATION[worker.isolation] ?? worker.isolation;
  return worker.isolation_detail ? `${kind}: ${worker.isolation_detail}` : kind;
}
