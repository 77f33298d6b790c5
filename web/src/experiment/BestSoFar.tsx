import { useMemo } from "react";
import type { ExperimentDetail } from "@/api/types";
import { bestSoFar, type Curve } from "@/charts/curve";
import { CurveChart } from "@/charts/CurveChart";
import { formatDuration } from "@/parts/format";
import { Card } from "@/parts/Page";
import { numberOf, type TrialRow } from "@/training/rows";
import css from "./Experiment.module.css";

/** The best value so far over time, updated whenever a trial ends. */
export function BestSoFar({ experiment, rows }: { experiment: ExperimentDetail; rows: readonly TrialRow[] }) {
  const curves = useMemo(() => curvesOf(experiment, rows), [experiment, rows]);
  const [stairs] = curves;
  return (
    <Card className={css.chartCard}>
      <div className={css.chartHead}>
        <h2>Best so far</h2>
        <span className="muted">{experiment.metric} over time, as trials ended</span>
      </div>
      {stairs && stairs.x.length > 0 ? (
        <CurveChart label="best so far" curves={curves} height={220} xName="after" formatX={formatDuration} strong="best" />
      ) : (
        <p className={`${css.noCurves} muted`}>{experiment.final ? "No trial ended with a validation." : "The curve starts when the first trial has ended."}</p>
      )}
    </Card>
  );
}

function curvesOf(experiment: ExperimentDetail, rows: readonly TrialRow[]): Curve[] {
  const began = Date.parse(experiment.started_at ?? experiment.created_at);
  const points = rows
    .filter((row) => row.values.ended != null)
    .map((row) => ({ x: (Date.parse(String(row.values.ended)) - began) / 1000, y: numberOf(row, "best") }));
  return [{ id: "best", label: "best", tone: 1, ...bestSoFar(points, experiment.smaller_is_better) }];
}
