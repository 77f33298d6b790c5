/** What several rooms ask of one experiment or trial. */
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

/** What grows slowly is not asked for with each report. */
const SELDOM = { restsMs: 10_000 };

/** The names of the columns that its trials have; more names than one page are not shown. */
export function columnsQuery(experiment: string) {
  return queryOptions({
    queryKey: keys.ofExperiment(experiment, "columns"),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments/{experiment}/columns", { params: { path: { experiment } }, signal })),
    meta: SELDOM,
  });
}

/** What its trials used so far, from the ledger; nothing where that may not be seen. */
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

/** A trial by its id or as people say it (`31.4`), to learn its id: events find it under that only. */
export function namedTrialQuery(reference: string) {
  return queryOptions({
    queryKey: keys.standing("trial", { reference }),
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

/** One metric's points, and of another that counts epochs where x is that; of a part of the steps where one looks closer. */
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
