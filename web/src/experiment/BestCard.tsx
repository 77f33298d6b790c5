import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ExperimentDetail } from "@/api/types";
import { formatNumber } from "@/parts/format";
import { Card } from "@/parts/Page";
import { Loading } from "@/parts/Notes";
import { State } from "@/parts/State";
import { trialQuery } from "@/training/queries";
import { sayValue } from "@/training/values";
import type { Best } from "./best";
import css from "./Experiment.module.css";
import { varying } from "./varying";

/** Hyperparameters of the best trial, varying ones first. */
export function BestCard({ experiment, best }: { experiment: ExperimentDetail; best: Best | null }) {
  const { data } = useQuery({ ...trialQuery(best?.trial ?? ""), enabled: best !== null });
  const names = varying(experiment.config);
  return (
    <Card className={css.chartCard}>
      <div className={css.chartHead}>
        <h2>Best trial</h2>
        {data && <State state={data.finishing ? "finishing" : data.state} quiet />}
      </div>
      {best && !data ? (
        <Loading rows={4} label="loading the best trial" />
      ) : best && data ? (
        <>
          <dl className={css.facts}>
            {[...names, ...Object.keys(data.hyperparameters).filter((name) => !names.includes(name))].map((name) => (
              <div key={name} data-quiet={!names.includes(name) || undefined}>
                <dt>{name}</dt>
                <dd className="mono">{sayValue(data.hyperparameters[name])}</dd>
              </div>
            ))}
            {Object.entries(best.others).map(([name, value]) => (
              <div key={`metric ${name}`}>
                <dt>{name}</dt>
                <dd className="mono">{formatNumber(value)}</dd>
              </div>
            ))}
          </dl>
          <Link className={css.link} to="/trials/$trial" params={{ trial: `${experiment.number}.${best.trial_number}` }}>
            Open trial {experiment.number}.{best.trial_number}
          </Link>
        </>
      ) : (
        <p className="muted">{experiment.final ? "No trial reported a validation." : "The best trial appears here after the first validation."}</p>
      )}
    </Card>
  );
}
