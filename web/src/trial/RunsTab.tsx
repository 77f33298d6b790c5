import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Resource, Run } from "@/api/types";
import { PlainTable } from "@/parts/PlainTable";
import { formatDuration, formatNumber } from "@/parts/format";
import { Complaint, Loading } from "@/parts/Notes";
import { Card, Section } from "@/parts/Page";
import { State } from "@/parts/State";
import { Elapsed, Time, useNow } from "@/parts/Time";
import { PhaseKey, PhaseTrack } from "@/training/PhaseTrack";
import { phasesUntil, wordOf, type Phase } from "@/training/phases";
import { checkpointsQuery, experimentQuery, phasesQuery, runsQuery } from "@/training/queries";
import { TimeAxis } from "@/training/TimeAxis";
import css from "./Trial.module.css";
import type { TrialTabProps } from "./tab";

/** Waterfall of the trial's phases, and its runs. */
export function RunsTab({ trial }: TrialTabProps) {
  const checkpoints = useQuery(checkpointsQuery(trial.id));
  const experiment = useQuery(experimentQuery(String(trial.experiment_number)));
  const now = useNow().getTime();
  const timeline = useQuery(phasesQuery(trial.id));
  const runs = useQuery(runsQuery(trial.id));
  const phases = useMemo(() => phasesUntil(now, timeline.data?.phases ?? []), [timeline.data, now]);
  const error = timeline.error ?? runs.error;
  if (error) return <Complaint error={error} />;
  if (!timeline.data || !runs.data) return <Loading rows={6} />;
  const [from, to] = [phases[0]?.from ?? now, Math.max(...phases.map((one) => one.to))];
  return (
    <div className={css.page}>
      <Section title="Time by phase" actions={<span className="muted number">{formatDuration((to - from) / 1000)} in total</span>}>
        <Card className={css.fall}>
          <PhaseKey phases={phases} />
          <ol className={css.bars}>
            <li>
              <span />
              <TimeAxis from={from} to={to} />
            </li>
            {phases.map((phase, at) => (
              <Bar key={at} phase={phase} from={from} to={to} checkpoints={checkpoints.data?.items ?? []} />
            ))}
          </ol>
          <p className={css.note}>
            Recorded by the platform. Of the checkpoints, it includes the first of each run and those that took at least a second. For spans of all services, see your tracing backend
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
              {["Run", "State", "Workers", "Slots", "Started", "Duration", "Reason"].map((name) => (
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

interface BarProps {
  phase: Phase;
  from: number;
  to: number;
  checkpoints: readonly Resource<"Checkpoint">[];
}

function Bar({ phase, from, to, checkpoints }: BarProps) {
  const own = phase.kind === "training" ? checkpoints.filter(({ run }) => run === phase.run) : [];
  return (
    <li>
      <span className={css.barName} data-within={phase.within !== null || undefined}>
        {phase.within !== null || phase.run === null ? wordOf(phase.kind) : `run ${phase.run} ${wordOf(phase.kind)}`}
        {phase.step !== null && <span className="muted"> {formatNumber(phase.step)}</span>}
      </span>
      <PhaseTrack phases={[phase]} checkpoints={own} from={from} to={to} />
      <span className="muted number">{formatDuration((phase.to - phase.from) / 1000)}</span>
      {phase.reason !== null && <span className={css.waits}>waits: {phase.reason}</span>}
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
        {run.reason ?? (run.ended_at ? "–" : "")} {run.exit_code ? <code>exit {run.exit_code}</code> : null} {run.charged && <span className={css.bad}>counted as a restart</span>}
      </td>
    </tr>
  );
}
