import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Range } from "@/charts/curve";
import { namedTrialQuery, trialQuery } from "@/training/queries";

/** A trial by its id or as people say it (`31.4`); held under its id, by which events find it. */
export function useTrial(reference: string) {
  const named = useQuery({ ...namedTrialQuery(reference), staleTime: Infinity });
  const id = named.data?.id ?? "";
  const own = useQuery({ ...trialQuery(id), enabled: id !== "", initialData: named.data });
  return { data: own.data ?? named.data, error: named.error ?? own.error, refetch: named.refetch };
}

export function summariesQuery(trial: string) {
  return queryOptions({
    queryKey: keys.ofTrial(trial, "summaries"),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}/summaries", { params: { path: { trial } }, signal })),
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

export function explanationQuery(trial: string) {
  return queryOptions({
    queryKey: keys.ofTrial(trial, "explanation"),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}/explanation", { params: { path: { trial } }, signal })),
  });
}
