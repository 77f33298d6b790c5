/** Queries of experiments and trials that several sections share. */
import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Range } from "@/charts/curve";

export function experimentQuery(experiment: string) {
  return queryOptions({
    queryKey: keys.experiment(experiment),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments/{experiment}", { params: { path: { experiment } }, signal })),
  });
}

/** Data that grows slowly is not refetched after each report. */
const SELDOM = { minIntervalMs: 10_000 };

/** Column names of an experiment's trials; only the first page of names is used. */
export function columnsQuery(experiment: string) {
  return queryOptions({
    queryKey: keys.ofExperiment(experiment, "columns"),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments/{experiment}/columns", { params: { path: { experiment } }, signal })),
    meta: SELDOM,
  });
}

/** Usage of an experiment so far; null if the user may not see it. */
export function usageQuery(experiment: string, since: string, number: number) {
  return queryOptions({
    queryKey: keys.ofExperiment(experiment, "usage"),
    queryFn: async ({ signal }) => {
      const usage = await ask(api.GET("/v1/usage", { params: { query: { by: ["experiment"], since } }, signal }));
      return typeof usage === "string" ? null : (usage.items.find((row) => row.experiment === number) ?? null);
    },
    meta: SELDOM,
  });
}

export function trialQuery(trial: string) {
  return queryOptions({
    queryKey: keys.trial(trial),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}", { params: { path: { trial } }, signal })),
  });
}

/** Resolves a trial by id or name (`31.4`) to its id, which events use. */
export function namedTrialQuery(reference: string) {
  return queryOptions({
    queryKey: keys.immutable("trial", { reference }),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}", { params: { path: { trial: reference } }, signal })),
  });
}

export function runsQuery(trial: string) {
  return queryOptions({
    queryKey: keys.ofTrial(trial, "runs"),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}/runs", { params: { path: { trial }, query: { limit: 200 } }, signal })),
  });
}

export function phasesQuery(trial: string) {
  return queryOptions({
    queryKey: keys.ofTrial(trial, "phases"),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}/phases", { params: { path: { trial } }, signal })),
  });
}

/** Points of a metric, of the epoch metric if x is epochs, and of a range of steps when zoomed. */
export function seriesQuery(trial: string, group: string | undefined, names: readonly string[], zoom: Range | null, maxPoints = 1000) {
  const steps = zoom ? { first_step: Math.floor(zoom[0]), last_step: Math.ceil(zoom[1]) } : {};
  const query = { group, name: [...names], max_points: maxPoints, ...steps };
  return queryOptions({
    queryKey: keys.ofTrial(trial, "metrics", query),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}/metrics", { params: { path: { trial }, query }, signal })),
    placeholderData: (before) => before,
  });
}

export function checkpointsQuery(trial: string) {
  return queryOptions({
    queryKey: keys.ofTrial(trial, "checkpoints"),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}/checkpoints", { params: { path: { trial }, query: { limit: 200 } }, signal })),
  });
}
