/** Learning curves of many trials, loaded in chunks; a chunk is refetched when one of its trials has reported more. */
import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Resource } from "@/api/types";
import { valueAt, type Curve, type Range } from "@/charts/curve";
import { extended, useReported, type Reported } from "./reported";
import { metricColumn, type Metric, type TrialRow } from "./rows";
import { measured } from "./values";

/** Limits of the gateway: trials per comparison and points per response. */
const TRIALS_AT_ONCE = 50;
const POINTS_AT_ONCE = 5800;
const MOST_POINTS = 1000;

const NO_POINTS: readonly Point[] = [];

export type XAxis = "step" | "time" | "epoch";
type Series = Resource<"MetricSeries">;
type Point = Series["points"][number];
type Answer = Resource<"ExperimentMetrics">;

export interface CurvesAsked {
  metric: Metric;
  x: XAxis;
  /** The metric that counts epochs, if x is epochs. */
  epochs: Metric | null;
  /** Zoomed range of steps. */
  zoom: Range | null;
}

export interface Part {
  experiment: string;
  trials: string[];
  /** Version of the reported data; a change causes a refetch. */
  stand: string;
  maxPoints: number;
}

/** Splits trials into chunks of one request, keyed by the progress of their metric, or by the round of live reports. Pure. */
export function partsOf(rows: readonly TrialRow[], query: CurvesAsked, live: Reported | null = null): Part[] {
  const column = metricColumn(query.metric, "last_step");
  // By number: sorting by the best value would change the chunks all the time.
  const reported = rows.filter((row) => row.values[column] != null || live?.has(row.trial)).sort((one, other) => one.number - other.number);
  const names = query.x === "epoch" ? 2 : 1;
  const size = Math.min(TRIALS_AT_ONCE, Math.max(1, reported.length));
  const parts: Part[] = [];
  for (let at = 0; at < reported.length; at += size) {
    const some = reported.slice(at, at + size);
    parts.push({
      experiment: String(some[0]?.experiment_number),
      trials: some.map((row) => row.trial),
      stand: live === null ? some.map((row) => String(row.values[column])).join() : `round ${live.round}`,
      maxPoints: Math.min(MOST_POINTS, Math.floor(POINTS_AT_ONCE / size / names)),
    });
  }
  return parts;
}

/** Returns the curves of trials, live if `isLive`; while a chunk is refetched, its previous data stays. */
export function useCurves(rows: readonly TrialRow[], query: CurvesAsked, isLive: boolean): { curves: Curve[]; isPending: boolean; error: unknown } {
  const { metric, x, epochs, zoom } = query;
  // Live reports carry one metric only, without the epoch metric.
  const live = useReported(rows[0]?.experiment_number ?? 0, metric, isLive && rows.length > 0 && x !== "epoch");
  const parts = useMemo(() => partsOf(rows, query, live?.reported), [rows, metric.group, metric.name, x, zoom, live]);
  const found = useQueries({ queries: parts.map((part) => partQuery(part, { metric, x, epochs, zoom })), combine });
  const byId = useMemo(() => new Map(rows.map((row) => [row.trial, row])), [rows]);
  const made = useMemo(() => new Made(query), [metric.group, metric.name, x, epochs]);
  const curves = useMemo(
    () =>
      found.answers.flatMap((answer) =>
        answer.trials.flatMap(({ trial, series }) => {
          const row = byId.get(trial);
          return row ? made.of(row, series, live?.reported.of(trial) ?? NO_POINTS) : [];
        }),
      ),
    [found.answers, byId, made, live],
  );
  return { curves, isPending: found.isPending && curves.length === 0, error: found.error };
}

/** Computed curves by trial, so that only trials with new reports are recomputed. */
class Made {
  private readonly known = new Map<string, { from: readonly unknown[]; curves: Curve[] }>();

  constructor(private readonly query: CurvesAsked) {}

  of(row: TrialRow, series: readonly Series[], since: readonly Point[]): Curve[] {
    const from = [series, since, row.state];
    const before = this.known.get(row.trial);
    if (before && from.every((one, at) => one === before.from[at])) return before.curves;
    const curves = curveOf(row, series.map((one) => ({ ...one, points: extended(one.points, since) })), this.query);
    this.known.set(row.trial, { from, curves });
    return curves;
  }
}

function partQuery(part: Part, { metric, x, epochs, zoom }: CurvesAsked) {
  const names = x === "epoch" && epochs ? [metric.name, epochs.name] : [metric.name];
  const steps = zoom && x === "step" ? { first_step: Math.floor(zoom[0]), last_step: Math.ceil(zoom[1]) } : {};
  const query = { trial: part.trials, name: names, group: x === "epoch" ? undefined : metric.group, max_points: part.maxPoints, ...steps };
  return {
    queryKey: keys.immutable("curves", { ...query, stand: part.stand }),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      ask(api.GET("/v1/experiments/{experiment}/metrics", { params: { path: { experiment: part.experiment }, query }, signal })),
    staleTime: Infinity,
    gcTime: 60_000,
    placeholderData: (before: Answer | undefined) => before,
  };
}

function combine(results: UseQueryResult<Answer>[]): { answers: Answer[]; isPending: boolean; error: unknown } {
  return {
    answers: results.flatMap(({ data }) => (data ? [data] : [])),
    isPending: results.some(({ isPending }) => isPending),
    error: results.find(({ error }) => error)?.error ?? null,
  };
}

/** Returns a trial's curve of a metric with the starts of its runs. Pure. */
export function curveOf(row: Pick<TrialRow, "trial" | "experiment_number" | "number" | "state">, series: readonly Series[], query: CurvesAsked): Curve[] {
  const own = series.find(({ group, name }) => group === query.metric.group && name === query.metric.name);
  if (own === undefined || own.points.length === 0) return [];
  const { points } = own;
  const y = Float64Array.from(points, measured);
  const x = xOf(own, series, query);
  if (x === null) return [];
  const restarts = points.flatMap(({ run }, at) => (at > 0 && run !== points[at - 1]?.run ? [at] : []));
  return [
    {
      id: row.trial,
      label: `${row.experiment_number}.${row.number}`,
      x,
      y,
      tone: ((row.number - 1) % 8) + 1,
      restarts,
      isBroken: row.state === "error",
    },
  ];
}

function xOf({ points }: Series, series: readonly Series[], { x, epochs }: CurvesAsked): Float64Array | null {
  if (x === "step") return Float64Array.from(points, ({ step }) => step);
  if (x === "time") {
    const began = Date.parse(points[0]?.time ?? "");
    let last = 0;
    // Clocks of machines differ: reports of a later run are never shown before those of an earlier one.
    return Float64Array.from(points, ({ time }) => (last = Math.max(last, (Date.parse(time) - began) / 1000)));
  }
  const counted = series.find(({ group, name }) => group === epochs?.group && name === epochs.name);
  if (counted === undefined) return null;
  const known = {
    x: Float64Array.from(counted.points, ({ step }) => step),
    y: Float64Array.from(counted.points, measured),
  };
  return Float64Array.from(points, ({ step }) => valueAt(known, step));
}
