/** Phases of a trial on a time axis. Pure. */
import type { Resource } from "@/api/types";
import { formatDuration } from "@/parts/format";

export type PhaseKind = Resource<"PhaseKind">;

/** A phase in milliseconds since 1970; an open phase ends now. */
export interface Phase {
  kind: PhaseKind;
  run: number | null;
  from: number;
  to: number;
  /** The enclosing phase. */
  within: PhaseKind | null;
  step: number | null;
  /** Why an upload waits. */
  reason: string | null;
}

export function phasesUntil(now: number, phases: readonly Resource<"Phase">[]): Phase[] {
  return phases.map(({ kind, run, began_at, ended_at, within, step, reason }) => {
    const from = Date.parse(began_at);
    return { kind, run, from, to: ended_at ? Date.parse(ended_at) : Math.max(now, from), within, step, reason: reason ?? null };
  });
}

/** Returns the consecutive phases without nested ones. */
export function mainOf(phases: readonly Phase[]): Phase[] {
  return phases.filter(({ within }) => within === null);
}

/** Returns uploads, which overlap later phases and may continue after the end of their run. */
export function uploadsOf(phases: readonly Phase[]): Phase[] {
  return phases.filter(({ kind }) => kind === "uploading_checkpoint");
}

/** Returns the total seconds per kind of main phase, in the order of their first start. */
export function sums(phases: readonly Phase[]): Map<PhaseKind, number> {
  const found = new Map<PhaseKind, number>();
  for (const { kind, from, to } of mainOf(phases)) found.set(kind, (found.get(kind) ?? 0) + (to - from) / 1000);
  return found;
}

export function wordOf(kind: PhaseKind): string {
  return kind.replaceAll("_", " ");
}

/** True if the phase starts a later run. */
export function isAgain({ kind, run }: Phase): boolean {
  return run !== null && run > 1 && (kind === "preparing" || kind === "running");
}

/** Describes a phase: kind, duration and why an upload waits. */
export function describePhase({ kind, run, step, from, to, reason }: Phase): string {
  const facts = [run === null ? "" : `run ${run}`, wordOf(kind), step === null ? "" : `of step ${step}`, formatDuration((to - from) / 1000)];
  return `${facts.filter(Boolean).join(" ")}${reason === null ? "" : `, waits: ${reason}`}`;
}
