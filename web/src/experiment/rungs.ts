/** Builds the rungs of a search from its journal. Pure. */
import type { Resource } from "@/api/types";

type Entry = Pick<Resource<"JournalEntry">, "kind" | "facts">;

export interface Judged {
  trial: number;
  value: number;
  isStopped: boolean;
  /** The trial reached the last rung and completed. */
  isAtEnd: boolean;
}

export interface Rung {
  bracket: number | null;
  /** In the search's time metric. */
  time: number;
  judged: Judged[];
}

/** Returns the rungs by bracket and time, with the latest judgement of each trial. */
export function rungsOf(entries: readonly Entry[]): Rung[] {
  const found = new Map<string, Rung>();
  for (const { kind, facts } of entries) {
    const { trial, time, value, stop, bracket, reached_max_time: isAtEnd } = facts;
    if (kind !== "judged" || typeof trial !== "number" || typeof time !== "number") continue;
    const of = typeof bracket === "number" ? bracket : null;
    const rung = found.get(`${of}@${time}`) ?? { bracket: of, time, judged: [] };
    rung.judged = [...rung.judged.filter((one) => one.trial !== trial), { trial, value: typeof value === "number" ? value : NaN, isStopped: stop === true && isAtEnd !== true, isAtEnd: isAtEnd === true }];
    found.set(`${of}@${time}`, rung);
  }
  return [...found.values()].sort((one, other) => (one.bracket ?? 0) - (other.bracket ?? 0) || one.time - other.time);
}
