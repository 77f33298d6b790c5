import { useQueries, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { ExperimentDetail, Trial } from "@/api/types";
import { CurveChart } from "@/charts/CurveChart";
import { smoothed, type Curve } from "@/charts/curve";
import { IconButton } from "@/parts/Button";
import { counted, formatDuration } from "@/parts/format";
import { Complaint, Empty, Loading } from "@/parts/Notes";
import { Num } from "@/parts/Number";
import { Card, Page, Section } from "@/parts/Page";
import { State } from "@/parts/State";
import { ChartTools } from "@/training/ChartTools";
import { readZoom, formatZoom } from "@/training/chartSearch";
import { curveOf } from "@/training/curves";
import { columnsQuery, experimentQuery, namedTrialQuery } from "@/training/queries";
import { metricsAmong, readMetric, type Metric } from "@/training/rows";
import { measured } from "@/training/values";
import { AddTrial } from "./AddTrial";
import css from "./Compare.module.css";
import { Differences } from "./Differences";
import { split, type CompareSearch } from "./search";

const EPOCHS = ["epoch", "epochs"];

export default function ComparePage() {
  const search = useSearch({ strict: false }) as CompareSearch;
  const navigate = useNavigate();
  const onSearch = (next: CompareSearch) => void navigate({ to: "/compare", search: next as never, replace: true });
  const { trials, experiments, error, isPending, names } = useCompared(search);
  const drop = (name: string) => onSearch({ ...search, trials: names.filter((one) => one !== name).join(",") || undefined, experiments: undefined });
  return (
    <Page title="Compare" aside={<span className="muted">{names.length > 0 && counted(names.length, "trial")}</span>} actions={<AddTrial onAdd={(more) => onSearch({ ...search, trials: [...names, ...more].join(","), experiments: undefined })} />}>
      {error ? <Complaint error={error} /> : null}
      {names.length === 0 && !isPending ? (
        <Empty icon="compare" title="No trials selected">
          <p>Compare curves, hyperparameters and code of trials. Select trials or experiments in their lists and choose Compare, or add a trial above by its number, such as 31.4.</p>
        </Empty>
      ) : isPending && trials.length === 0 ? (
        <Loading rows={10} />
      ) : (
        <div className={css.page}>
          <Overlaid trials={trials} experiments={experiments} search={search} onSearch={onSearch} />
          <Chosen trials={trials} experiments={experiments} onDrop={drop} />
          <Differences trials={trials} experiments={experiments} />
        </div>
      )}
    </Page>
  );
}

/** Loads the trials of the URL (for experiments, their best trial) and the experiments of all of them. */
function useCompared(search: CompareSearch) {
  const query = useQueries({ queries: split(search.experiments).map((reference) => experimentQuery(reference)) });
  const best = query.flatMap(({ data }) => (data?.best ? [`${data.number}.${data.best.trial_number}`] : []));
  const names = [...new Set([...split(search.trials), ...best])];
  const found = useQueries({ queries: names.map((name) => namedTrialQuery(name)) });
  const trials = found.flatMap(({ data }) => (data ? [data] : []));
  const numbers = [...new Set(trials.map((trial) => String(trial.experiment_number)))];
  const details = useQueries({ queries: numbers.map((reference) => experimentQuery(reference)) });
  const all = [...found, ...query, ...details];
  return {
    names,
    trials,
    experiments: details.flatMap(({ data }) => (data ? [data] : [])),
    error: all.find((one) => one.error)?.error ?? null,
    isPending: all.some((one) => one.isPending),
  };
}

interface Compared {
  trials: readonly Trial[];
  experiments: readonly ExperimentDetail[];
}

function Overlaid({ trials, experiments, search, onSearch }: Compared & { search: CompareSearch; onSearch: (next: CompareSearch) => void }) {
  const [first] = experiments;
  const columns = useQuery({ ...columnsQuery(String(first?.number ?? "")), enabled: first !== undefined });
  const metrics = useMemo(() => metricsAmong(columns.data?.columns ?? []), [columns.data]);
  const metric = readMetric(search.metric) ?? { group: "validation", name: first?.metric ?? "loss" };
  const epochs = metrics.find(({ name }) => EPOCHS.includes(name)) ?? null;
  const x = search.x === "epoch" && epochs === null ? "step" : (search.x ?? "step");
  const zoom = useMemo(() => readZoom(search.zoom), [search.zoom]);
  const { curves, error } = useOverlaid(trials, metric, x, epochs, search.smooth ?? 0);
  const [hovered, setHovered] = useState<string | null>(null);
  return (
    <Card className={css.chart}>
      <div className={css.head}>
        <h2>
          {metric.name} <span className="muted">{metric.group}</span>
        </h2>
        <ChartTools search={search} onSearch={onSearch} metrics={metrics.length > 0 ? metrics : [metric]} metric={metric} hasEpochs={epochs !== null} />
      </div>
      {error ? <Complaint error={error} /> : null}
      {curves.length > 0 ? (
        <CurveChart
          label={`${metric.name} of the compared trials`}
          curves={curves}
          height={340}
          xName={x === "time" ? "after" : x}
          formatX={x === "time" ? formatDuration : undefined}
          isLogX={search.log?.includes("x")}
          isLogY={search.log?.includes("y")}
          zoom={zoom}
          onZoom={(next) => onSearch({ ...search, zoom: formatZoom(next) })}
          hovered={hovered}
          onHover={setHovered}
        />
      ) : (
        <p className={`${css.blank} muted`}>None of them has reported {metric.name}.</p>
      )}
      <p className={css.keyed}>
        {trials.map((trial, at) => (
          <span key={trial.id}>
            <i style={{ background: `var(--series-${(at % 8) + 1})` }} /> {trial.experiment_number}.{trial.number}
          </span>
        ))}
      </p>
    </Card>
  );
}

function useOverlaid(trials: readonly Trial[], metric: Metric, x: "step" | "time" | "epoch", epochs: Metric | null, weight: number) {
  const names = x === "epoch" && epochs ? [metric.name, epochs.name] : [metric.name];
  const query = { group: x === "epoch" ? undefined : metric.group, name: names, max_points: 1000 };
  const found = useQueries({
    queries: trials.map(({ id }) => ({
      queryKey: keys.ofTrial(id, "metrics", query),
      queryFn: ({ signal }: { signal: AbortSignal }) => ask(api.GET("/v1/trials/{trial}/metrics", { params: { path: { trial: id }, query }, signal })),
    })),
    combine: (results) => ({ data: results.map(({ data }) => data), error: results.find((one) => one.error)?.error ?? null }),
  });
  const curves = useMemo(
    () =>
      trials.flatMap((trial, at): Curve[] => {
        const row = { trial: trial.id, experiment_number: trial.experiment_number, number: trial.number, state: trial.state };
        const own = curveOf(row, found.data[at]?.series ?? [], { metric, x, epochs, zoom: null });
        return own.map((one) => ({ ...one, tone: (at % 8) + 1, y: smoothed(one.y, weight) }));
      }),
    [trials, found.data, metric.group, metric.name, x, epochs, weight],
  );
  return { curves, error: found.error };
}

function Chosen({ trials, experiments, onDrop }: Compared & { onDrop: (name: string) => void }) {
  return (
    <Section title="Trials">
      <div className={css.cards}>
        {trials.map((trial, at) => {
          const name = `${trial.experiment_number}.${trial.number}`;
          const experiment = experiments.find(({ number }) => number === trial.experiment_number);
          return (
            <Card key={trial.id} className={css.card}>
              <header>
                <i style={{ background: `var(--series-${(at % 8) + 1})` }} />
                <Link to="/trials/$trial" params={{ trial: name }}>
                  {name}
                </Link>
                <IconButton icon="close" label={`Remove ${name}`} onClick={() => onDrop(name)} />
              </header>
              <span className={css.of}>{experiment?.name}</span>
              <span className={css.best}>
                <State state={trial.state} quiet />
                <Num value={trial.best && measured(trial.best)} digits={5} />
              </span>
            </Card>
          );
        })}
      </div>
    </Section>
  );
}
