/** Queries of the cluster pages. Events make the keys under "queue" stale; the other queries are fetched when a page shows them. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { every } from "@/api/every";
import { keys } from "@/api/keys";
import type { Resource } from "@/api/types";

export type Pool = Resource<"Pool">;
export type Worker = Resource<"Worker">;
export type QueueEntry = Resource<"QueueEntry">;
export type Explanation = Resource<"Explanation">;
export type UsageRow = Resource<"UsageRow">;
export type UsageKey = Resource<"UsageKey">;
export type Instance = Resource<"InstanceRecord">;
export type MachineCost = Resource<"MachineCost">;

const PAGE = 200;
const NOT_ENDED = "state != terminated and state != failed";

export const poolsQuery = queryOptions({
  queryKey: keys.cluster("queue", { part: "pools" }),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/pools", { params: { query: { limit: PAGE, cursor } }, signal }))),
  refetchOnWindowFocus: true,
});

export const workersQuery = queryOptions({
  queryKey: keys.cluster("queue", { part: "workers" }),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/workers", { params: { query: { limit: PAGE, cursor } }, signal }))),
  refetchOnWindowFocus: true,
});

/** Rented machines, newest first: the current ones, or all. The stream of machine events makes it stale. */
export const instancesQuery = (isAll: boolean) =>
  queryOptions({
    queryKey: keys.cluster("instances", { isAll }),
    queryFn: ({ signal }) =>
      every((cursor) => ask(api.GET("/v1/instances", { params: { query: { filter: isAll ? undefined : NOT_ENDED, limit: PAGE, cursor } }, signal }))),
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: true,
  });

/** Waiting trials in scheduling order; the first page has expected starts. */
export const waitingQuery = queryOptions({
  queryKey: keys.cluster("queue", { part: "waiting" }),
  queryFn: ({ signal }) =>
    every((cursor) =>
      ask(api.GET("/v1/queue", { params: { query: { filter: "state = waiting", starts: cursor === undefined, limit: PAGE, cursor } }, signal })),
    ),
});

export const runningQuery = queryOptions({
  queryKey: keys.cluster("queue", { part: "running" }),
  queryFn: ({ signal }) =>
    every((cursor) => ask(api.GET("/v1/queue", { params: { query: { filter: "state = running", limit: PAGE, cursor } }, signal }))),
});

/** Explanation of one trial. It is refetched only when position, reason or priority change, because the scheduler computes plans for it. */
export function explanationQuery(entry: QueueEntry) {
  return queryOptions({
    queryKey: keys.cluster("explanation", { trial: entry.trial, state: entry.state, position: entry.position, code: entry.code, priority: entry.priority }),
    queryFn: ({ signal }) => ask(api.GET("/v1/trials/{trial}/explanation", { params: { path: { trial: entry.trial } }, signal })),
    placeholderData: (before) => (before?.trial === entry.trial ? before : undefined),
    staleTime: 10_000,
  });
}

/** Usage per day, grouped by one more key. */
export const usageQuery = (by: UsageKey | "label", days: number) =>
  queryOptions({
    queryKey: keys.cluster("usage", { by, days }),
    queryFn: async ({ signal }) => {
      const query = by === "label" ? { by: ["day" as const], by_label: true, days } : { by: ["day" as const, by], days };
      // The operation returns CSV only on request.
      return (await ask(api.GET("/v1/usage", { params: { query }, signal }))) as Resource<"Usage">;
    },
    placeholderData: keepPreviousData,
  });

/** Cost of rented machines from `since` to `until`, inclusive. */
export const costsQuery = (since: string, until: string) =>
  queryOptions({
    queryKey: keys.cluster("costs", { since, until }),
    queryFn: ({ signal }) => ask(api.GET("/v1/machine-costs", { params: { query: { since, until } }, signal })),
    placeholderData: keepPreviousData,
  });
