import { useQuery } from "@tanstack/react-query";
import type { Trial } from "@/api/types";
import { formatNumber } from "@/parts/format";
import { Num } from "@/parts/Number";
import { Card, Figure } from "@/parts/Page";
import { Elapsed, Time } from "@/parts/Time";
import { measured, sayValue } from "@/training/values";
import { explanationQuery } from "./queries";
import css from "./Trial.module.css";
import { WaitingUploads } from "./WaitingUploads";

/** Key figures and hyperparameters of the trial, and why it waits. */
export function About({ trial }: { trial: Trial }) {
  const { best, latest } = trial;
  const isWaiting = trial.state === "queued" || trial.state === "parked";
  return (
    <>
      {trial.reason && <div className={trial.finishing ? css.finishing : css.reason}>{trial.reason}</div>}
      {isWaiting && <Waiting trial={trial} />}
      <WaitingUploads trial={trial} />
      <Card className={css.about}>
        <dl className={css.figures}>
          <Figure label="Best validation" note={best ? `step ${formatNumber(best.step)}` : undefined}>
            <Num value={best && measured(best)} digits={5} />
          </Figure>
          <Figure label="Latest" note={latest ? `step ${formatNumber(latest.step)}` : undefined}>
            <Num value={latest && measured(latest)} digits={5} />
          </Figure>
          <Figure label="Runs" note={trial.runs > 1 ? `resumed ${trial.runs === 2 ? "once" : `${trial.runs - 1} times`}` : "uninterrupted"}>
            {trial.runs}
          </Figure>
          <Figure label={trial.final ? "Duration" : "Running for"} note={<span>created <Time at={trial.created_at} /></span>}>
            <Elapsed from={trial.created_at} to={trial.ended_at} />
          </Figure>
        </dl>
        <dl className={css.facts} aria-label="Hyperparameters">
          {Object.entries(trial.hyperparameters).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd className="mono">{sayValue(value)}</dd>
            </div>
          ))}
          <div data-quiet>
            <dt>seed</dt>
            <dd className="mono">{trial.seed}</dd>
          </div>
          <div data-quiet>
            <dt>slots</dt>
            <dd className="mono">{trial.slots}</dd>
          </div>
        </dl>
      </Card>
    </>
  );
}

function Waiting({ trial }: { trial: Trial }) {
  const { data } = useQuery(explanationQuery(trial.id));
  if (!data || data.state !== "waiting") return null;
  return (
    <div className={css.waiting}>
      <b>{data.message}</b>
      {data.position !== null && <span>Place {data.position} in the queue.</span>}
      {data.expected_start && (
        <span>
          Expected to start <Time at={data.expected_start.expected} />.
        </span>
      )}
      {data.suggestions.map((way) => (
        <span key={way.command}>
          {way.message} <code>{way.command}</code>
        </span>
      ))}
    </div>
  );
}
