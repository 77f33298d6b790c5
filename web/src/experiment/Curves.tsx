import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { ExperimentDetail } from "@/api/types";
import { CurveChart } from "@/charts/CurveChart";
import { smoothed } from "@/charts/curve";
import { counted, formatDuration, formatNumber } from "@/parts/format";
import { Complaint, Loading } from "@/parts/Notes";
import { useIsPhone } from "@/parts/useIsPhone";
import { ChartTools } from "@/training/ChartTools";
import { readZoom, formatZoom } from "@/training/chartSearch";
import { useCurves } from "@/training/curves";
import { isOdd, type Metric, type TrialRow } from "@/training/rows";
import type { Best } from "./best";
import css from "./Experiment.module.css";
import type { ExperimentSearch } from "./search";

interface CurvesProps {
  experiment: ExperimentDetail;
  rows: readonly TrialRow[];
  total: number | null;
  isPending: boolean;
  metrics: readonly Metric[];
  metric: Metric;
  best: Best | null;
  search: ExperimentSearch;
  onSearch: (next: ExperimentSearch) => void;
  hovered: string | null;
  onHover: (trial: string | null) => void;
}

/** Live learning curves of all trials. */
export function Curves({ experiment, rows, total, metrics, metric, best, search, onSearch, hovered, onHover, isPending }: CurvesProps) {
  const navigate = useNavigate();
  const isPhone = useIsPhone();
  const epochs = epochsOf(experiment, metrics);
  const x = search.x === "epoch" && epochs === null ? "step" : (search.x ?? "step");
  const zoom = useMemo(() => readZoom(search.zoom), [search.zoom]);
  const found = useCurves(rows, { metric, x, epochs, zoom }, !experiment.final);
  const weight = search.smooth ?? 0;
  const curves = useMemo(() => (weight > 0 ? found.curves.map((one) => ({ ...one, y: smoothed(one.y, weight) })) : found.curves), [found.curves, weight]);
  const strong = metric.name === experiment.metric ? (best?.trial ?? null) : null;
  const notFinite = rows.filter((row) => isOdd(row, metric)).length;
  const failed = rows.filter((row) => row.state === "error").length;
  return (
    <>
      <div className={css.chartHead}>
        <h2>
          {metric.name} <span className="muted">{metric.group}</span>
        </h2>
        <ChartTools search={search} onSearch={onSearch as never} metrics={metrics} metric={metric} hasEpochs={epochs !== null} />
      </div>
      {found.error ? <Complaint error={found.error} /> : null}
      {curves.length === 0 ? (
        <div className={css.noCurves}>
          {isPending || found.isPending ? <Loading rows={7} label="loading the curves" /> : <p className="muted">{experiment.final ? `No trial reported ${metric.name} before the experiment ended.` : `No trial has reported ${metric.name} yet. Its curve appears here with the first report.`}</p>}
        </div>
      ) : (
        <CurveChart
          label={`${metric.name} of all trials`}
          curves={curves}
          height={isPhone ? 240 : 360}
          xName={x === "time" ? "after" : x}
          formatX={x === "time" ? formatDuration : undefined}
          isLogX={search.log?.includes("x")}
          isLogY={search.log?.includes("y")}
          isGrowing={!experiment.final}
          zoom={zoom}
          onZoom={(next) => onSearch({ ...search, zoom: formatZoom(next) })}
          strong={strong}
          hovered={hovered}
          onHover={onHover}
          onPick={(trial) => void navigate({ to: "/trials/$trial", params: { trial: curves.find(({ id }) => id === trial)?.label ?? trial } })}
        />
      )}
      <p className={css.legend}>
        <span>{counted(curves.length, "curve")}{total !== null && total > rows.length ? ` of the best ${formatNumber(rows.length)} of ${formatNumber(total)} trials` : ""}</span>
        {strong && <span>best trial highlighted</span>}
        {notFinite > 0 && (
          <span className={css.bad}>
            ✕ {counted(notFinite, "trial")} reported NaN or infinity
          </span>
        )}
        {failed > 0 && <span className={css.bad}>✕ {counted(failed, "trial")} ended in an error</span>}
        <span className={css.hint}>Drag to zoom, double-click to reset</span>
      </p>
    </>
  );
}

/** Returns the metric that counts epochs: the search's time metric, if trials report it. */
function epochsOf(experiment: ExperimentDetail, metrics: readonly Metric[]): Metric | null {
  const searcher = (experiment.config.searcher ?? {}) as { time_metric?: string | null };
  const names = [searcher.time_metric, "epoch", "epochs"];
  return metrics.find(({ group, name }) => group === "validation" && names.includes(name)) ?? metrics.find(({ name }) => names.includes(name)) ?? null;
}
