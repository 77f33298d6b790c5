import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Order } from "@/parts/table/props";
import { joined } from "@/parts/expression";
import type { ListSearch } from "./search";

const PAGE = 100;

/** Groups of states, shown as tabs above the list, each with the name of its main state. */
export const STATES: Record<string, { label: string; filter: string }> = {
  active: { label: "Active", filter: "state in (submitted, active, stopping)" },
  paused: { label: "Paused", filter: "state = paused" },
  completed: { label: "Completed", filter: "state = completed" },
  error: { label: "Error", filter: "state in (error, rejected)" },
  cancelled: { label: "Cancelled", filter: "state = cancelled" },
};

/** Returns the complete filter of a URL. */
export function filterOf(search: ListSearch): string {
  return joined(search.state ? STATES[search.state]?.filter : "", search.filter);
}

/** The list of a URL, in pages; with the hyperparameters of the best trials if a column shows one. */
export function experimentsQuery(search: ListSearch, hasHyperparameters: boolean) {
  const query = queryOf(search, hasHyperparameters);
  return infiniteQueryOptions({
    queryKey: keys.experiments(query),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/v1/experiments", { params: { query: { ...query, limit: PAGE, cursor: pageParam || undefined } }, signal })),
    getNextPageParam: (page) => page.next_cursor || undefined,
    enabled: search.grouped === undefined,
  });
}

/** The groups of a URL with their counts, in pages. Counting reads all experiments, so it is refetched less often. */
export function groupsQuery(search: ListSearch) {
  const query = { by: search.grouped ?? "owner", filter: filterOf(search), archived: search.archived ?? false };
  return infiniteQueryOptions({
    queryKey: keys.experimentGroups(query),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/v1/experiment-groups", { params: { query: { ...query, limit: PAGE, cursor: pageParam || undefined } }, signal })),
    getNextPageParam: (page) => page.next_cursor || undefined,
    enabled: search.grouped !== undefined,
    meta: { minIntervalMs: 3000 },
  });
}

/** The first page of a group, cached under the key of the group's own list. */
export function firstOfQuery(search: ListSearch, hasHyperparameters: boolean) {
  const query = queryOf(search, hasHyperparameters);
  return queryOptions({
    queryKey: keys.experiments(query),
    queryFn: async ({ signal }) => {
      const first = await ask(api.GET("/v1/experiments", { params: { query: { ...query, limit: PAGE } }, signal }));
      return { pages: [first], pageParams: [""] };
    },
  });
}

/** A sample of the list with hyperparameters, for the choice of columns. */
export function namesQuery(search: ListSearch) {
  const query = queryOf(search, true);
  return queryOptions({
    queryKey: keys.immutable("columns", query),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments", { params: { query: { ...query, limit: PAGE } }, signal })),
    staleTime: 60_000,
  });
}

function queryOf(search: ListSearch, hasHyperparameters: boolean) {
  const query = { filter: filterOf(search), sort: search.sort ?? "", archived: search.archived ?? false };
  return hasHyperparameters ? { ...query, hyperparameters: true } : query;
}

/** Parses a `sort` of one field. */
export function orderOf(sort: string | undefined): Order | null {
  if (!sort || sort.includes(",")) return null;
  return sort.startsWith("-") ? { by: sort.slice(1), isDown: true } : { by: sort, isDown: false };
}

export function sortOf(order: Order | null): string | undefined {
  return order === null ? undefined : `${order.isDown ? "-" : ""}${order.by}`;
}
