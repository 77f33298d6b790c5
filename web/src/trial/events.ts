/** What happened to a trial, in order, from what the platform keeps of it for as long as the trial is there. Pure. */
import type { Resource, Run, Trial } from "@/api/types";
import { counted, formatBytes, formatNumber } from "@/parts/format";

export interface TrialEvent {
  at: number;
  /** A state, as its word and colour are shown. */
  state: string;
  text: string;
  /** Why, where there is more to say. */
  why: string | null;
  /** The line of the log that says it. */
  line?: { since: string; line: string };
  checkpoint?: string;
}

export interface Happened {
  trial: Pick<Trial, "created_at" | "ended_at" | "state" | "reason">;
  runs: readonly Run[];
  checkpoints: readonly Resource<"Checkpoint">[];
  /** What the platform itself wrote into the trial's log. */
  lines: readonly Resource<"LogLine">[];
}

/** The newest first; what happened at once in the order of cause. */
export function eventsOf({ trial, runs, checkpoints, lines }: Happened): TrialEvent[] {
  const found: TrialEvent[] = [{ at: Date.parse(trial.created_at), state: "queued", text: "made by the search, and waits for slots", why: null }];
  for (const run of runs) found.push(...eventsOfRun(run));
  const said = runs.map(({ number, reason }) => `run ${number}: ${reason}`);
  for (const { text, level, time, cursor } of lines) {
    // The end of a run may say more than its line: that no restarts are left.
    if (said.some((one) => one.startsWith(text))) continue;
    found.push({ at: Date.parse(time), state: level === "error" ? "error" : level === "warning" ? "warning" : "noted", text, why: null, line: { since: time, line: cursor } });
  }
  for (const { id, created_at, state, step, size_bytes, reason } of checkpoints) {
    found.push({ at: Date.parse(created_at), state, text: `checkpoint at step ${formatNumber(step)}, ${formatBytes(size_bytes)}`, why: reason, checkpoint: id });
  }
  if (trial.ended_at) found.push({ at: Date.parse(trial.ended_at), state: trial.state, text: "the trial ended", why: trial.reason });
  return found.map((event, place) => ({ event, place })).sort((one, other) => other.event.at - one.event.at || other.place - one.place).map(({ event }) => event);
}

function eventsOfRun({ number, members, granted_at, ended_at, outcome, reason, exit_code, charged }: Run): TrialEvent[] {
  const slots = members.reduce((sum, member) => sum + member.slots, 0);
  const where = members.map(({ worker }) => worker).join(", ");
  const began: TrialEvent = { at: Date.parse(granted_at), state: "granted", text: `run ${number} was given ${counted(slots, "slot")} on ${where}`, why: null };
  if (!ended_at) return [began];
  const why = [reason, exit_code && !reason?.includes("exit code") ? `exit code ${exit_code}` : null, charged ? "counts as a restart" : null];
  return [began, { at: Date.parse(ended_at), state: outcome ?? "ended", text: `run ${number} ended`, why: why.filter(Boolean).join("; ") || null }];
}
