import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { namedTrialQuery, trialQuery } from "@/training/queries";

/** A trial by id or name (`31.4`), cached under its id, which events use. */
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

/** Lines that the platform wrote to the trial's log. */
export function platformLinesQuery(trial: string) {
  return queryOptions({
    queryKey: keys.ofTrial(trial, "platform lines"),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}/logs", { params: { path: { trial }, query: { stream: "platform", limit: 200 } }, signal })),
  });
}

/** The expected start changes with the time that the runs before it take, which no event reports. */
const EXPLAIN_EVERY_MS = 15_000;

export function explanationQuery(trial: string) {
  return queryOptions({
    queryKey: keys.ofTrial(trial, "explanation"),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}/explanation", { params: { path: { trial } }, signal })),
    refetchInterval: ({ state }) => (state.data?.state === "waiting" ? EXPLAIN_EVERY_MS : false),
  });
}
