import { useInfiniteQuery, useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { asProblem } from "@/api/problem";
import type { Experiment, ExperimentPage, Resource } from "@/api/types";
import { counted } from "@/parts/format";
import type { Group } from "@/parts/table/lines";
import { GroupHead } from "./GroupHead";
import type { Grouping } from "./grouping";
import { experimentsQuery, firstOfQuery, groupsQuery } from "./query";
import { alone, toggled, type ListSearch } from "./search";

type First = UseQueryResult<{ pages: ExperimentPage[] }>;

/** The loaded part of a list, with a function that loads more. */
interface Listed {
  /** The rows; an experiment with several labels can appear in several groups. */
  rows: readonly Experiment[];
  groups?: readonly Group<Experiment>[];
  onToggle?: (group: string) => void;
  isPending: boolean;
  error: unknown;
  retry: () => void;
  hasMore: boolean;
  more: () => void;
}

const NONE: readonly never[] = [];

/** Returns the experiments of a URL, as a list or in groups; open groups show their first page. */
export function useListed(search: ListSearch, hasHyperparameters: boolean, onSearch: (next: ListSearch) => void): Listed {
  const plain = useInfiniteQuery({ ...experimentsQuery(search, hasHyperparameters), placeholderData: (before) => before });
  const counts = useInfiniteQuery(groupsQuery(search));
  const { error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = search.grouped === undefined ? plain : counts;
  const more = useCallback(() => void (hasNextPage && !isFetchingNextPage && fetchNextPage()), [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const items = useMemo(() => plain.data?.pages.flatMap((page) => page.items) ?? NONE, [plain.data]);
  const found = useMemo(() => counts.data?.pages.flatMap((page) => page.items) ?? NONE, [counts.data]);
  const grouped = useGroups(search, found, hasHyperparameters, onSearch);
  return { rows: items, ...grouped, error, isPending, retry: () => void refetch(), hasMore: hasNextPage, more };
}

type Grouped = Pick<Listed, "rows" | "groups" | "onToggle">;

/** Returns the groups with the first page of the open ones; undefined if the list is not grouped. */
function useGroups(search: ListSearch, found: readonly Resource<"ExperimentGroup">[], hasHyperparameters: boolean, onSearch: (next: ListSearch) => void): Grouped | undefined {
  const by = search.grouped;
  const open = by === undefined ? [] : found.filter((one) => search.open?.includes(one.value));
  const firsts = useQueries({ queries: open.map((one) => firstOfQuery(alone(search, by as Grouping, one.value), hasHyperparameters)) });
  if (by === undefined) return undefined;
  const groups = found.map((one): Group<Experiment> => {
    const first = firsts[open.indexOf(one)];
    return {
      id: JSON.stringify(one.value),
      head: <GroupHead by={by} group={one} />,
      isOpen: first !== undefined,
      items: first?.data?.pages.flatMap((page) => page.items) ?? NONE,
      foot: first && footOf(first, one.count, () => onSearch(alone(search, by, one.value))),
    };
  });
  return {
    rows: groups.flatMap((group) => group.items),
    groups,
    onToggle: (group) => onSearch(toggled(search, JSON.parse(group) as string | null)),
  };
}

/** Returns the line below an open group: loading, an error, or a link to the full list. */
function footOf({ data, error, isPending, refetch }: First, count: number, showAll: () => void): Group<Experiment>["foot"] {
  if (isPending) return { text: "Loading…" };
  if (error) return { text: `${asProblem(error).message}. Try again.`, onOpen: () => void refetch() };
  return data?.pages.at(-1)?.next_cursor ? { text: `Show all ${counted(count, "experiment")} of this group`, onOpen: showAll } : undefined;
}
