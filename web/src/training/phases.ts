/** What a trial did when, from what the platform noted of it. Pure. */
import type { Resource } from "@/api/types";

type Run = Resource<"Run">;

export type PhaseKind = "queued" | "starting" | "training";

export interface Phase {
  kind: PhaseKind;
  run: number | null;
  from: number;
  to: number;
}

export interface Told {
  createdAt: string;
  endedAt: string | null;
  runs: readonly Run[];
  /** By the number of a run: when it first reported anything. */
  firstReports: ReadonlyMap<number, number>;
  now: number;
}

/** Waiting, starting and training one after another, in milliseconds since 1970; what lasted no time is left out. */
export function phasesOf({ createdAt, endedAt, runs, firstReports, now }: Told): Phase[] {
  const found: Phase[] = [];
  const add = (kind: PhaseKind, run: number | null, from: number, to: number) => to > from && found.push({ kind, run, from, to });
  let free = Date.parse(createdAt);
  for (const run of runs) {
    const granted = Date.parse(run.granted_at);
    const ended = run.ended_at ? Date.parse(run.ended_at) : now;
    const reported = Math.min(firstReports.get(run.number) ?? ended, ended);
    add("queued", null, free, granted);
    add("starting", run.number, granted, reported);
    add("training", run.number, reported, ended);
    free = ended;
  }
  if (endedAt === null && runs.every((run) => run.ended_at)) add("queued", null, free, now);
  return found;
}

/** How long each kind lasted in all, in seconds. */
export function sums(phases: readonly Phase[]): Record<PhaseKind, number> {
  const found: Record<PhaseKind, number> = { queued: 0, starting: 0, training: 0 };
  for (const { kind, from, to } of phases) found[kind] += (to - from) / 1000;
  return found;
}

/** When each run reported first. */
export function firstReports(metrics: Resource<"TrialMetrics"> | undefined): Map<number, number> {
  const found = new Map<number, number>();
  for (const { group, points } of metrics?.series ?? []) {
    if (group === "system" || group === "timing") continue;
    for (const { run, time } of points) found.set(run, Math.min(found.get(run) ?? Infinity, Date.parse(time)));
  }
  return found;
}
