import { useInfiniteQuery, useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { asProblem } from "@/api/problem";
import type { Experiment, ExperimentPage, Resource } from "@/api/types";
import { counted } from "@/parts/format";
import type { Group } from "@/parts/table/lines";
import { GroupHead } from "./GroupHead";
import type { Grouping } from "./grouping";
import { experimentsQuery, firstOfQuery, groupsQuery } from "./query";
import { alone, turned, type ListSearch } from "./search";

type First = UseQueryResult<{ pages: ExperimentPage[] }>;

/** What of a list is there, and how more of it comes. */
interface Listed {
  /** The rows; one with several labels may stand under each. */
  rows: readonly Experiment[];
  groups?: readonly Group<Experiment>[];
  onTurn?: (group: string) => void;
  isPending: boolean;
  error: unknown;
  retry: () => void;
  hasMore: boolean;
  more: () => void;
}

const NONE: readonly never[] = [];

/** The experiments of an address: in one list, or in groups of which the open ones show their first. */
export function useListed(search: ListSearch, hasPoints: boolean, onSearch: (next: ListSearch) => void): Listed {
  const plain = useInfiniteQuery({ ...experimentsQuery(search, hasPoints), placeholderData: (before) => before });
  const counts = useInfiniteQuery(groupsQuery(search));
  const { error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = search.grouped === undefined ? plain : counts;
  const more = useCallback(() => void (hasNextPage && !isFetchingNextPage && fetchNextPage()), [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const items = useMemo(() => plain.data?.pages.flatMap((page) => page.items) ?? NONE, [plain.data]);
  const found = useMemo(() => counts.data?.pages.flatMap((page) => page.items) ?? NONE, [counts.data]);
  const grouped = useGroups(search, found, hasPoints, onSearch);
  return { rows: items, ...grouped, error, isPending, retry: () => void refetch(), hasMore: hasNextPage, more };
}

type Grouped = Pick<Listed, "rows" | "groups" | "onTurn">;

/** The groups with the first of the open ones; nothing where the list has none. */
function useGroups(search: ListSearch, found: readonly Resource<"ExperimentGroup">[], hasPoints: boolean, onSearch: (next: ListSearch) => void): Grouped | undefined {
  const by = search.grouped;
  const open = by === undefined ? [] : found.filter((one) => search.open?.includes(one.value));
  const firsts = useQueries({ queries: open.map((one) => firstOfQuery(alone(search, by as Grouping, one.value), hasPoints)) });
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
    onTurn: (group) => onSearch(turned(search, JSON.parse(group) as string | null)),
  };
}

/** What stands below the rows of an open group: that they come, that they could not, or that there are more than are shown here. */
function footOf({ data, error, isPending, refetch }: First, count: number, showAll: () => void): Group<Experiment>["foot"] {
  if (isPending) return { said: "loading…" };
  if (error) return { said: `${asProblem(error).message}: try again`, onOpen: () => void refetch() };
  return data?.pages.at(-1)?.next_cursor ? { said: `All ${counted(count, "experiment")} in a list of their own`, onOpen: showAll } : undefined;
}
