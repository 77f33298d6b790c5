import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { formatNumber } from "@/parts/format";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { Card, Section } from "@/parts/Page";
import type { TabProps } from "./tab";
import { rungsOf, type Rung } from "./rungs";
import css from "./Search.module.css";

const PAGE = 200;
const MOST_PAGES = 25;

/** The rungs of the search: each trial at its value, with the decision about it. */
export function SearchTab({ experiment }: TabProps) {
  const reference = String(experiment.number);
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: keys.ofExperiment(reference, "journal"),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/v1/experiments/{experiment}/journal", { params: { path: { experiment: reference }, query: { limit: PAGE, cursor: pageParam || undefined } }, signal })),
    getNextPageParam: (page) => page.next_cursor || undefined,
  });
  const pages = data?.pages.length ?? 0;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && pages < MOST_PAGES) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, pages]);
  const entries = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const rungs = useMemo(() => rungsOf(entries), [entries]);
  if (error && !data) return <Trouble error={error} retry={() => void refetch()} />;
  if (!data) return <Loading rows={8} />;
  const searcher = experiment.config.searcher as { time_metric?: string; divisor?: number } | undefined;
  const values = rungs.flatMap(({ judged }) => judged.map(({ value }) => value)).filter(Number.isFinite);
  const range: [number, number] = [Math.min(...values), Math.max(...values)];
  return (
    <Section title={`${experiment.searcher.replaceAll("_", " ")}`} actions={<span className="muted number">{entries.length.toLocaleString("en-US")} decisions{hasNextPage ? ", more not loaded" : ""}</span>}>
      {rungs.length === 0 ? (
        <Empty title={entries.length === 0 ? "The search has not started" : "No rungs yet"}>
          <p>{entries.length > 0 && "Rungs show where the search compares trials. This method has none, or no trial has reached the first rung yet."}</p>
        </Empty>
      ) : (
        <Card className={css.rungs}>
          <p className={css.keyed}>
            <span>
              <i className={css.goes} /> continued or completed
            </span>
            <span>
              <i className={css.stops} /> stopped
            </span>
            <span className="muted">
              {experiment.metric} from {formatNumber(range[0])} to {formatNumber(range[1])}, better values at the right
            </span>
          </p>
          <ol>
            {[...rungs].reverse().map((rung) => (
              <Row key={`${rung.bracket}@${rung.time}`} rung={rung} range={range} isSmallerBetter={experiment.smaller_is_better} experiment={reference} unit={searcher?.time_metric ?? ""} />
            ))}
          </ol>
        </Card>
      )}
    </Section>
  );
}

interface RowProps {
  rung: Rung;
  range: [number, number];
  isSmallerBetter: boolean;
  experiment: string;
  unit: string;
}

function Row({ rung, range, isSmallerBetter, experiment, unit }: RowProps) {
  const continued = rung.judged.filter(({ isStopped }) => !isStopped).length;
  const isLast = rung.judged.some(({ isAtEnd }) => isAtEnd);
  const outcomeOf = (isStopped: boolean) => (isStopped ? "stopped" : isLast ? "completed" : "continued");
  const width = range[1] - range[0] || 1;
  return (
    <li className={css.rung}>
      <span className={css.name}>
        <b className="number">
          {formatNumber(rung.time)} {unit}
        </b>
        {rung.bracket !== null && <span className="muted">bracket {rung.bracket}</span>}
      </span>
      <span className={css.strip} data-plotted>
        {rung.judged.map(({ trial, value, isStopped }) => {
          const part = Number.isFinite(value) ? (value - range[0]) / width : NaN;
          const at = Number.isNaN(part) ? 0 : isSmallerBetter ? 1 - part : part;
          return (
            <Link
              key={trial}
              to="/trials/$trial"
              params={{ trial: `${experiment}.${trial}` }}
              className={isStopped ? css.stops : css.goes}
              style={{ left: `${2 + at * 96}%` }}
              title={`trial ${experiment}.${trial}: ${formatNumber(value)}, ${outcomeOf(isStopped)}`}
              aria-label={`trial ${experiment}.${trial}, ${formatNumber(value)}, ${outcomeOf(isStopped)}`}
            />
          );
        })}
      </span>
      <span className="muted number">
        {isLast ? `${continued} completed` : `${continued} of ${rung.judged.length} continued`}
      </span>
    </li>
  );
}
