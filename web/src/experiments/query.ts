import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Order } from "@/parts/table/props";
import { joined } from "@/parts/expression";
import type { ListSearch } from "./search";

const PAGE = 100;

/** States that people look at together, as tabs over the list. */
export const STATES: Record<string, { label: string; filter: string }> = {
  running: { label: "Running", filter: "state in (submitted, active, stopping)" },
  paused: { label: "Paused", filter: "state = paused" },
  completed: { label: "Completed", filter: "state = completed" },
  failed: { label: "Failed", filter: "state in (error, rejected)" },
  cancelled: { label: "Cancelled", filter: "state = cancelled" },
};

/** The whole filter that an address asks for, as the API reads it. */
export function filterOf(search: ListSearch): string {
  return joined(search.state ? STATES[search.state]?.filter : "", search.filter);
}

/** The list that an address asks for, page by page; with the hyperparameters of the best trials where a column shows one. */
export function experimentsQuery(search: ListSearch, hasPoints: boolean) {
  const asked = askedFor(search, hasPoints);
  return infiniteQueryOptions({
    queryKey: keys.experiments(asked),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/v1/experiments", { params: { query: { ...asked, limit: PAGE, cursor: pageParam || undefined } }, signal })),
    getNextPageParam: (page) => page.next_cursor || undefined,
    enabled: search.grouped === undefined,
  });
}

/** The groups that an address asks for, with how many experiments each has, page by page. Counting looks at all: what only goes on is not counted again at once. */
export function groupsQuery(search: ListSearch) {
  const asked = { by: search.grouped ?? "owner", filter: filterOf(search), archived: search.archived ?? false };
  return infiniteQueryOptions({
    queryKey: keys.experimentGroups(asked),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/v1/experiment-groups", { params: { query: { ...asked, limit: PAGE, cursor: pageParam || undefined } }, signal })),
    getNextPageParam: (page) => page.next_cursor || undefined,
    enabled: search.grouped !== undefined,
    meta: { restsMs: 3000 },
  });
}

/** The first of a group, in the list's order: the first page of that group's own list, under its name. */
export function firstOfQuery(search: ListSearch, hasPoints: boolean) {
  const asked = askedFor(search, hasPoints);
  return queryOptions({
    queryKey: keys.experiments(asked),
    queryFn: async ({ signal }) => {
      const first = await ask(api.GET("/v1/experiments", { params: { query: { ...asked, limit: PAGE } }, signal }));
      return { pages: [first], pageParams: [""] };
    },
  });
}

/** Some of the list with their hyperparameters: what columns there could be. */
export function namesQuery(search: ListSearch) {
  const asked = askedFor(search, true);
  return queryOptions({
    queryKey: keys.standing("columns", asked),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments", { params: { query: { ...asked, limit: PAGE } }, signal })),
    staleTime: 60_000,
  });
}

function askedFor(search: ListSearch, hasPoints: boolean) {
  const asked = { filter: filterOf(search), sort: search.sort ?? "", archived: search.archived ?? false };
  return hasPoints ? { ...asked, hyperparameters: true } : asked;
}

/** The order that a `sort` of one field says. */
export function orderOf(sort: string | undefined): Order | null {
  if (!sort || sort.includes(",")) return null;
  return sort.startsWith("-") ? { by: sort.slice(1), isDown: true } : { by: sort, isDown: false };
}

export function sortOf(order: Order | null): string | undefined {
  return order === null ? undefined : `${order.isDown ? "-" : ""}${order.by}`;
}
