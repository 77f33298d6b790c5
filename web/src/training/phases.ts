/** What a trial did when, as the platform tells it, on one line of time. Pure. */
import type { Resource } from "@/api/types";
import { formatDuration } from "@/parts/format";

export type PhaseKind = Resource<"PhaseKind">;

/** A phase in milliseconds since 1970; one that goes on reaches up to now. */
export interface Phase {
  kind: PhaseKind;
  run: number | null;
  from: number;
  to: number;
  /** The phase that it is a part of. */
  within: PhaseKind | null;
  step: number | null;
  /** Why an upload waits. */
  reason: string | null;
}

export function phasesUntil(now: number, told: readonly Resource<"Phase">[]): Phase[] {
  return told.map(({ kind, run, began_at, ended_at, within, step, reason }) => {
    const from = Date.parse(began_at);
    return { kind, run, from, to: ended_at ? Date.parse(ended_at) : Math.max(now, from), within, step, reason: reason ?? null };
  });
}

/** Those that follow each other, without what lies within them. */
export function mainOf(phases: readonly Phase[]): Phase[] {
  return phases.filter(({ within }) => within === null);
}

/** Uploads go on beside what follows, and behind the end of their run. */
export function uploadsOf(phases: readonly Phase[]): Phase[] {
  return phases.filter(({ kind }) => kind === "uploading_checkpoint");
}

/** How long each main kind lasted in all, in seconds, in the order in which they began. */
export function sums(phases: readonly Phase[]): Map<PhaseKind, number> {
  const found = new Map<PhaseKind, number>();
  for (const { kind, from, to } of mainOf(phases)) found.set(kind, (found.get(kind) ?? 0) + (to - from) / 1000);
  return found;
}

export function wordOf(kind: PhaseKind): string {
  return kind.replaceAll("_", " ");
}

/** True where a run was begun again. */
export function isAgain({ kind, run }: Phase): boolean {
  return run !== null && run > 1 && (kind === "preparing" || kind === "running");
}

/** A phase in a sentence: what, how long, and why an upload waits. */
export function sayPhase({ kind, run, step, from, to, reason }: Phase): string {
  const words = [run === null ? "" : `run ${run}`, wordOf(kind), step === null ? "" : `of step ${step}`, formatDuration((to - from) / 1000)];
  return `${words.filter(Boolean).join(" ")}${reason === null ? "" : `, waits: ${reason}`}`;
}
