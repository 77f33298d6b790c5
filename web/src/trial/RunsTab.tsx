import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Resource, Run } from "@/api/types";
import { PlainTable } from "@/parts/PlainTable";
import { formatDuration } from "@/parts/format";
import { Complaint, Loading } from "@/parts/Notes";
import { Card, Section } from "@/parts/Page";
import { State } from "@/parts/State";
import { Elapsed, Time, useNow } from "@/parts/Time";
import { experimentQuery, runsQuery } from "@/training/queries";
import { phasesOf, sums, type Phase } from "./phases";
import { checkpointsQuery, seriesQuery } from "./queries";
import css from "./Trial.module.css";
import type { TrialTabProps } from "./TrialPage";

/** Enough to see where runs began, and few enough for every metric in one answer. */
const FEW_POINTS = 60;
const SAID = { queued: "queued", starting: "starting", training: "training" } as const;

/** When it waited, started and trained, and where its checkpoints fell: one row for each wait and each run. */
export function RunsTab({ trial }: TrialTabProps) {
  const runs = useQuery(runsQuery(trial.id));
  const checkpoints = useQuery(checkpointsQuery(trial.id));
  const points = useQuery(seriesQuery(trial.id, undefined, [], null, FEW_POINTS));
  const experiment = useQuery(experimentQuery(String(trial.experiment_number)));
  const now = useNow().getTime();
  const phases = useMemo(
    () => phasesOf({ createdAt: trial.created_at, endedAt: trial.ended_at, runs: runs.data?.items ?? [], firstReports: firstReports(points.data), now }),
    [trial, runs.data, points.data, now],
  );
  if (runs.error) return <Complaint error={runs.error} />;
  if (!runs.data) return <Loading rows={6} />;
  const [from, to] = [phases[0]?.from ?? now, phases.at(-1)?.to ?? now];
  const all = sums(phases);
  return (
    <div className={css.page}>
      <Section title="Where its time went" actions={<span className="muted number">{formatDuration((to - from) / 1000)} in all</span>}>
        <Card className={css.fall}>
          <p className={css.keyed}>
            {Object.entries(all).map(([kind, seconds]) => (
              <span key={kind}>
                <i className={css[kind]} /> {kind} <b className="number">{formatDuration(seconds)}</b>
              </span>
            ))}
            <span>
              <i className={css.saved} /> checkpoint
            </span>
          </p>
          <ol className={css.bars}>
            {phases.map((phase, at) => (
              <Bar key={at} phase={phase} from={from} to={to} checkpoints={checkpoints.data?.items ?? []} />
            ))}
          </ol>
          <p className={css.note}>
            From what the platform noted: grants, first reports, checkpoints and ends. Spans of every service are where the traces go
            {experiment.data?.trace_id && (
              <>
                {" "}
                (trace <code>{experiment.data.trace_id}</code>, <code>muster trace {trial.experiment_number}</code> on the platform's machine)
              </>
            )}
            .
          </p>
        </Card>
      </Section>
      <Section title="Runs">
        <PlainTable>
          <thead>
            <tr>
              {["Run", "State", "Where", "Slots", "Began", "Took", "Why it ended"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {runs.data.items.map((run) => (
              <Row key={run.id} run={run} />
            ))}
          </tbody>
        </PlainTable>
      </Section>
    </div>
  );
}

function Bar({ phase, from, to, checkpoints }: { phase: Phase; from: number; to: number; checkpoints: readonly Resource<"Checkpoint">[] }) {
  const whole = Math.max(1, to - from);
  const part = (at: number) => `${(100 * (at - from)) / whole}%`;
  const own = phase.kind === "training" ? checkpoints.filter(({ run }) => run === phase.run) : [];
  return (
    <li>
      <span className={css.barName}>{phase.run === null ? SAID[phase.kind] : `run ${phase.run} ${SAID[phase.kind]}`}</span>
      <span className={css.track}>
        <span className={`${css.bar} ${css[phase.kind]}`} style={{ left: part(phase.from), width: `max(2px, ${(100 * (phase.to - phase.from)) / whole}%)` }} />
        {own.map((one) => (
          <span key={one.id} className={css.saved} title={`checkpoint at step ${one.step}`} style={{ left: part(Date.parse(one.created_at)) }} />
        ))}
      </span>
      <span className="muted number">{formatDuration((phase.to - phase.from) / 1000)}</span>
    </li>
  );
}

function Row({ run }: { run: Run }) {
  const state = run.state === "granted" ? "running" : (run.outcome ?? "ended");
  return (
    <tr>
      <td className="number">{run.number}</td>
      <td>
        <State state={state} quiet />
      </td>
      <td>{run.members.map(({ worker }) => worker).join(", ")}</td>
      <td className="number">{run.members.reduce((sum, { slots }) => sum + slots, 0)}</td>
      <td>
        <Time at={run.granted_at} />
      </td>
      <td>
        <Elapsed from={run.granted_at} to={run.ended_at} />
      </td>
      <td data-wraps>
        {run.reason ?? (run.ended_at ? "–" : "")} {run.exit_code ? <code>exit {run.exit_code}</code> : null} {run.charged && <span className={css.bad}>counts as a restart</span>}
      </td>
    </tr>
  );
}

/** When each run reported first. */
function firstReports(metrics: Resource<"TrialMetrics"> | undefined): Map<number, number> {
  const found = new Map<number, number>();
  for (const { group, points } of metrics?.series ?? []) {
    if (group === "system" || group === "timing") continue;
    for (const { run, time } of points) found.set(run, Math.min(found.get(run) ?? Infinity, Date.parse(time)));
  }
  return found;
}
