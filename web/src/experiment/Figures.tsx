import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ExperimentDetail } from "@/api/types";
import { counted, formatDuration, formatMoney, formatNumber } from "@/parts/format";
import { Num } from "@/parts/Number";
import { Card, Figure } from "@/parts/Page";
import { Progress } from "@/parts/Progress";
import { Elapsed, Time } from "@/parts/Time";
import { usageQuery } from "@/training/queries";
import { endedOf } from "@/training/states";
import { type Best, checkpointNote } from "./best";
import css from "./Experiment.module.css";

/** The key figures of the experiment. */
export function Figures({ experiment, best }: { experiment: ExperimentDetail; best: Best | null }) {
  const { trials, metric, smaller_is_better } = experiment;
  const lacking = checkpointNote(best);
  return (
    <Card className={css.figures}>
      <dl>
        <Figure
          label={`Best ${metric ?? ""}`}
          note={
            best && (
              <>
                <Link className={css.link} to="/trials/$trial" params={{ trial: `${experiment.number}.${best.trial_number}` }}>
                  trial {experiment.number}.{best.trial_number}
                  {best.step !== null && `, step ${formatNumber(best.step)}`}
                </Link>
                {lacking && <span className={css.lacking}>{lacking}</span>}
              </>
            )
          }
        >
          <Num value={best?.value} digits={5} />
        </Figure>
        <Figure label="Trials" note={countsOf(trials)}>
          {endedOf(trials)}
          {trials.planned ? <span className="muted"> / {trials.planned}</span> : null}
        </Figure>
        <Figure label="Progress" note={`${experiment.searcher.replaceAll("_", " ")}, ${smaller_is_better ? "minimizes" : "maximizes"} ${metric ?? ""}`}>
          <Progress value={experiment.progress} state={experiment.state} label="progress" />
        </Figure>
        <Figure label={experiment.final ? "Duration" : "Running for"} note={<span>started <Time at={experiment.started_at ?? experiment.created_at} /></span>}>
          <Elapsed from={experiment.started_at} to={experiment.ended_at} />
        </Figure>
        <Cost experiment={experiment} />
      </dl>
    </Card>
  );
}

function countsOf(trials: ExperimentDetail["trials"]): string {
  const parts = [
    trials.running && `${trials.running} running`,
    trials.queued && `${trials.queued} queued`,
    trials.parked && `${trials.parked} parked`,
    trials.finishing && `${trials.finishing} finishing`,
    trials.error && `${trials.error} in error`,
    trials.cancelled && `${trials.cancelled} cancelled`,
    trials.invalid && `${trials.invalid} invalid`,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : counted(endedOf(trials), "trial") + " ended";
}

function Cost({ experiment }: { experiment: ExperimentDetail }) {
  const { data, error } = useQuery(usageQuery(String(experiment.number), experiment.created_at, experiment.number));
  const { budget } = experiment;
  const hours = data ? `${formatDuration(data.slot_seconds)} of slot time` : "no slots used yet";
  const most = budget?.cost ?? null;
  const note = error ? "usage could not be loaded" : most !== null ? `of ${formatMoney(most)}; ${hours}` : budget?.slot_hours ? `${hours} of ${formatNumber(budget.slot_hours)} h` : hours;
  const isUnpriced = data && data.cost === 0 && data.unpriced_slot_seconds > 0;
  return (
    <Figure label="Cost" note={note}>
      {isUnpriced ? <span title="The used slots have no price">no price set</span> : formatMoney(data?.cost ?? 0)}
    </Figure>
  );
}
