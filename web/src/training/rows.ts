/** Trials of an experiment as table rows with hyperparameters and metrics. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Resource } from "@/api/types";
import { numberIn } from "./values";

export type TrialRow = Resource<"TableRow">;

const PAGE = 200;
const FINAL: ReadonlySet<string> = new Set(["completed", "stopped", "error", "cancelled"]);

export function isFinal(state: string | null): boolean {
  return state !== null && FINAL.has(state);
}

/** Returns the API's column name of a metric, such as `metrics.validation.accuracy.last`. */
export function metricColumn(metric: Metric, stat: "last" | "last_step" | "best" | "min" | "max"): string {
  return ["metrics", quoted(metric.group), quoted(metric.name), stat].join(".");
}

/** Quotes a segment of a column name unless it is a plain identifier. */
function quoted(part: string): string {
  return /^[A-Za-z_][\w/-]*$/.test(part) ? part : `"${part.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** Returns the segments of a column name, without quotes. */
function partsOf(column: string): string[] {
  return [...column.matchAll(/"((?:[^"\\]|\\.)*)"|[^."]+/g)].map(([whole, inner]) => (inner === undefined ? whole : inner.replace(/\\(.)/g, "$1")));
}

export interface Metric {
  group: string;
  name: string;
}

/** Returns the name of a metric in URLs and menus, such as `validation/accuracy`. */
export function metricKey({ group, name }: Metric): string {
  return `${group}/${name}`;
}

export function readMetric(word: string | undefined): Metric | null {
  const cut = word?.indexOf("/") ?? -1;
  return word === undefined || cut < 1 ? null : { group: word.slice(0, cut), name: word.slice(cut + 1) };
}

/** Returns the metrics among column names, validation metrics first. */
export function metricsAmong(columns: readonly string[]): Metric[] {
  const found = columns.flatMap((column) => {
    const [first, group, ...name] = partsOf(column);
    return first === "metrics" && group && name.length > 0 ? [{ group, name: name.join(".") }] : [];
  });
  const rank = ({ group }: Metric) => (group === "validation" ? 0 : group === "training" ? 1 : 2);
  return found.sort((one, other) => rank(one) - rank(other) || metricKey(one).localeCompare(metricKey(other)));
}

/** True if a metric was reported and its last value is not finite. */
export function isOdd(row: TrialRow, metric: Metric): boolean {
  const last = numberIn(row.values[metricColumn(metric, "last")]);
  return last !== null && !Number.isFinite(last);
}

/** Returns the best value of a trial; without one, its last value if that is not finite. */
export function bestOrOdd(row: TrialRow, metric: Metric): number | null {
  const best = numberIn(row.values.best);
  return best === null && isOdd(row, metric) ? numberOf(row, metricColumn(metric, "last")) : best;
}

/** Returns a cell as a number; NaN if it is none. */
export function numberOf(row: TrialRow, column: string): number {
  return numberIn(row.values[column]) ?? NaN;
}

interface Asked {
  columns: readonly string[];
  filter?: string;
  sort?: string;
  /** Number of rows that are loaded automatically; more are loaded on demand. */
  most?: number;
}

/** Returns rows of trials; events refetch them. */
export function useRows(experiment: string, { columns, filter = "", sort = "", most = PAGE }: Asked) {
  const query = useInfiniteQuery({
    queryKey: keys.ofExperiment(experiment, "table", { columns, filter, sort }),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      ask(
        api.GET("/v1/experiments/{experiment}/table", {
          params: { path: { experiment }, query: { column: [...columns], filter, sort, limit: PAGE, cursor: pageParam || undefined } },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor || undefined,
    placeholderData: (before) => before,
  });
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const isShort = rows.length < most;
  useEffect(() => {
    if (isShort && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [isShort, hasNextPage, isFetchingNextPage, fetchNextPage, rows.length]);
  return { ...query, rows, total: data?.pages[0]?.total ?? null };
}
