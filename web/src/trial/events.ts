/** Events of a trial, derived from its runs, checkpoints and platform log lines. Pure. */
import type { Resource, Run, Trial } from "@/api/types";
import { counted, formatBytes, formatNumber } from "@/parts/format";

export interface TrialEvent {
  at: number;
  /** State, which determines word and colour. */
  state: string;
  text: string;
  /** Reason, if there is one. */
  why: string | null;
  /** Position of its log line. */
  line?: { since: string; line: string };
  checkpoint?: string;
}

export interface Happened {
  trial: Pick<Trial, "created_at" | "ended_at" | "state" | "reason">;
  runs: readonly Run[];
  checkpoints: readonly Resource<"Checkpoint">[];
  /** Lines that the platform wrote to the trial's log. */
  lines: readonly Resource<"LogLine">[];
}

/** Returns the events, newest first; simultaneous ones in causal order. */
export function eventsOf({ trial, runs, checkpoints, lines }: Happened): TrialEvent[] {
  const found: TrialEvent[] = [{ at: Date.parse(trial.created_at), state: "queued", text: "Created by the search; waits for slots", why: null }];
  for (const run of runs) found.push(...eventsOfRun(run));
  const reported = runs.map(({ number, reason }) => `run ${number}: ${reason}`);
  for (const { text, level, time, cursor } of lines) {
    // The reason of a run's end may say more than its log line, for example that no restarts are left.
    if (reported.some((one) => one.startsWith(text))) continue;
    found.push({ at: Date.parse(time), state: level === "error" ? "error" : level === "warning" ? "warning" : "noted", text, why: null, line: { since: time, line: cursor } });
  }
  for (const { id, created_at, state, step, size_bytes, reason } of checkpoints) {
    found.push({ at: Date.parse(created_at), state, text: `Checkpoint at step ${formatNumber(step)}, ${formatBytes(size_bytes)}`, why: reason, checkpoint: id });
  }
  if (trial.ended_at) found.push({ at: Date.parse(trial.ended_at), state: trial.state, text: "Trial ended", why: trial.reason });
  return found.map((event, place) => ({ event, place })).sort((one, other) => other.event.at - one.event.at || other.place - one.place).map(({ event }) => event);
}

function eventsOfRun({ number, members, granted_at, ended_at, outcome, reason, exit_code, charged }: Run): TrialEvent[] {
  const slots = members.reduce((sum, member) => sum + member.slots, 0);
  const where = members.map(({ worker }) => worker).join(", ");
  const began: TrialEvent = { at: Date.parse(granted_at), state: "granted", text: `Run ${number} got ${counted(slots, "slot")} on ${where}`, why: null };
  if (!ended_at) return [began];
  const why = [reason, exit_code && !reason?.includes("exit code") ? `exit code ${exit_code}` : null, charged ? "counted as a restart" : null];
  return [began, { at: Date.parse(ended_at), state: outcome ?? "ended", text: `Run ${number} ended`, why: why.filter(Boolean).join("; ") || null }];
}
