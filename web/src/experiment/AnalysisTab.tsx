import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, useMemo } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { useTheme } from "@/parts/theme";
import { importances, type Sample } from "@/charts/relations";
import { Select } from "@/parts/Field";
import { counted } from "@/parts/format";
import { Complaint, Empty, Loading } from "@/parts/Notes";
import { Card } from "@/parts/Page";
import { isOdd, metricColumn, numberOf, useRows } from "@/training/rows";
import css from "./Experiment.module.css";
import type { TabProps } from "./tab";
import { varying } from "./varying";
import { parallel, pareto, scatter, shares, type Objective } from "./plots";

const Plot = lazy(() => import("@/charts/Plot"));
/** The number of best trials that are drawn. */
const MOST = 1000;
/** The minimum number of results for an estimate of importance. */
const MIN_RESULTS = 8;

/** Relations between hyperparameters and the metric. */
export function AnalysisTab({ experiment, search, onSearch }: TabProps) {
  const theme = useTheme();
  const navigate = useNavigate();
  const reference = String(experiment.number);
  const names = useMemo(() => varying(experiment.config), [experiment.config]);
  const metric = experiment.metric ?? "metric";
  const own = useMemo(() => ({ group: "validation", name: metric }), [metric]);
  const { rows, total, error, isPending } = useRows(reference, { columns: ["best", metricColumn(own, "last"), metricColumn(own, "last_step"), ...names.map((name) => `hparams.${name}`)], sort: "best", most: MOST });
  const samples = useMemo<Sample[]>(
    () =>
      rows
        .map((row) => ({ id: row.trial, label: `${row.experiment_number}.${row.number}`, result: numberOf(row, "best"), values: Object.fromEntries(names.map((name) => [name, row.values[`hparams.${name}`]])) }))
        .filter(({ result }) => Number.isFinite(result)),
    [rows, names],
  );
  const notFinite = useMemo(() => rows.filter((row) => isOdd(row, own)).length, [rows, own]);
  const found = useMemo(() => importances(samples, names), [samples, names]);
  const a = names.find((name) => name === search.a) ?? found[0]?.name ?? "";
  const b = names.find((name) => name === search.b) ?? found.find(({ name }) => name !== a)?.name ?? "";
  const isLess = experiment.smaller_is_better;
  const options = useMemo(
    () => ({ parallel: parallel(samples, names, metric, isLess), scatter: scatter(samples, a, b, metric, isLess), shares: shares(found) }),
    [samples, names, metric, isLess, a, b, found, theme],
  );
  const open = (trial: string) => void navigate({ to: "/trials/$trial", params: { trial } });
  if (error) return <Complaint error={error} />;
  if (isPending) return <Loading rows={10} />;
  if (samples.length === 0 || names.length === 0) return <Empty title="Nothing to analyse yet">{names.length === 0 ? <p>This page relates hyperparameters to the metric. The config of this experiment varies none.</p> : <p>This page relates hyperparameters to the metric. It fills with the first validation.</p>}</Empty>;
  return (
    <div className={css.overview}>
      <Card className={css.chartCard}>
        <div className={css.chartHead}>
          <h2>All hyperparameters</h2>
          <span className="muted">
            stronger colour: better {metric}
            {notFinite > 0 ? `; ${counted(notFinite, "trial")} reported NaN or infinity` : ""}
            {total !== null && total > rows.length ? `; the best ${rows.length} of ${total}` : ""}
          </span>
        </div>
        <Plot label={`hyperparameters of ${samples.length} trials`} option={options.parallel} height={320} />
      </Card>
      <div className={css.pair}>
        {names.length > 1 && (
          <Card className={css.chartCard}>
            <div className={css.chartHead}>
              <h2>Two hyperparameters</h2>
              <span className={css.chosen}>
                {[a, b].map((chosen, at) => (
                  <Select key={at} label={at === 0 ? "X axis" : "Y axis"} value={chosen} onChange={(event) => onSearch({ ...search, [at === 0 ? "a" : "b"]: event.target.value })}>
                    {names.map((name) => (
                      <option key={name}>{name}</option>
                    ))}
                  </Select>
                ))}
              </span>
            </div>
            <Plot label={`${a} and ${b}`} option={options.scatter} onPick={open} />
            <p className={css.legend}>Shading: {metric} interpolated from nearby trials; blank where there are none.</p>
          </Card>
        )}
        <Card className={css.chartCard}>
          <div className={css.chartHead}>
            <h2>Importance</h2>
          </div>
          {samples.length < MIN_RESULTS ? <p className="muted">Importance needs at least {MIN_RESULTS} results; so far there are {samples.length}.</p> : <Plot label="importance of hyperparameters" option={options.shares} height={Math.max(120, 34 * names.length)} />}
          <p className={css.legend}>The share of the variance of {metric} that each hyperparameter explains on its own (ω²). Joint effects of several hyperparameters are not included.</p>
        </Card>
      </div>
      <ParetoFront {...{ experiment, search, onSearch }} onOpen={open} />
    </div>
  );
}

/** The Pareto-optimal trials of a search with several metrics. */
function ParetoFront({ experiment, onOpen }: TabProps & { onOpen: (trial: string) => void }) {
  const theme = useTheme();
  const reference = String(experiment.number);
  const searcher = experiment.config.searcher as { metrics?: Objective[]; limits?: string[] } | undefined;
  const objectives = useMemo(() => searcher?.metrics ?? [], [searcher]);
  const { data, error } = useQuery({
    queryKey: keys.ofExperiment(reference, "front"),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments/{experiment}/front", { params: { path: { experiment: reference }, query: { limit: 200 } }, signal })),
    enabled: objectives.length > 1,
  });
  const [x = "", y = ""] = objectives.map(({ name }) => name);
  const option = useMemo(() => {
    const points = (data?.items ?? []).map((one) => ({ label: `${reference}.${one.trial_number}`, x: one.metrics[x] ?? NaN, y: one.metrics[y] ?? NaN }));
    return pareto(points, objectives);
  }, [data, x, y, objectives, reference, theme]);
  if (objectives.length < 2) return null;
  return (
    <Card className={css.chartCard}>
      <div className={css.chartHead}>
        <h2>Pareto front</h2>
        {data && (
          <span className="muted">
            {data.total} of {counted(data.admissible, "trial")}
            {searcher?.limits?.length ? " within the limits" : ""}
          </span>
        )}
      </div>
      {error ? <Complaint error={error} /> : <Plot label={`Pareto front of ${x} and ${y}`} option={option} onPick={onOpen} />}
    </Card>
  );
}
