import { useQuery } from "@tanstack/react-query";
import type { Resource, Run } from "@/api/types";
import { PlainTable } from "@/parts/PlainTable";
import { formatDuration } from "@/parts/format";
import { Complaint, Loading } from "@/parts/Notes";
import { Card, Section } from "@/parts/Page";
import { State } from "@/parts/State";
import { Elapsed, Time, useNow } from "@/parts/Time";
import { PhaseKey, PhaseTrack } from "@/training/PhaseTrack";
import type { Phase } from "@/training/phases";
import { checkpointsQuery, experimentQuery } from "@/training/queries";
import { usePhases } from "@/training/usePhases";
import css from "./Trial.module.css";
import type { TrialTabProps } from "./tab";

/** When it waited, started and trained, and where its checkpoints fell: one row for each wait and each run. */
export function RunsTab({ trial }: TrialTabProps) {
  const checkpoints = useQuery(checkpointsQuery(trial.id));
  const experiment = useQuery(experimentQuery(String(trial.experiment_number)));
  const now = useNow().getTime();
  const { phases, runs, error } = usePhases(trial, now);
  if (error) return <Complaint error={error} />;
  if (!runs) return <Loading rows={6} />;
  const [from, to] = [phases[0]?.from ?? now, phases.at(-1)?.to ?? now];
  return (
    <div className={css.page}>
      <Section title="Where its time went" actions={<span className="muted number">{formatDuration((to - from) / 1000)} in all</span>}>
        <Card className={css.fall}>
          <PhaseKey phases={phases} />
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
            {runs.map((run) => (
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
      <span className={css.barName}>{phase.run === null ? phase.kind : `run ${phase.run} ${phase.kind}`}</span>
      <PhaseTrack phases={[phase]} checkpoints={own} from={from} to={to} />
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
