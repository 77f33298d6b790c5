import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Resource } from "@/api/types";
import { formatDuration } from "@/parts/format";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { State } from "@/parts/State";
import { useNow } from "@/parts/Time";
import { PhaseKey, PhaseTrack } from "@/training/PhaseTrack";
import { mainOf, phasesUntil, uploadsOf } from "@/training/phases";
import { checkpointsQuery } from "@/training/queries";
import { TimeAxis } from "@/training/TimeAxis";
import type { TabProps } from "./tab";
import css from "./Timeline.module.css";

const ROW_PX = 32;
const PAGE = 200;
/** The next page is loaded when the end is this many rows away. */
const AHEAD = 20;
const NONE: readonly Resource<"Checkpoint">[] = [];

/** The phases of each trial on a common time axis: one row per trial. */
export function TimelineTab({ experiment }: TabProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const now = useNow().getTime();
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(phasesQuery(String(experiment.number)));
  const trials = useMemo(() => data?.pages.flatMap(({ items }) => items) ?? [], [data]);
  const lastUpload = useMemo(() => Math.max(0, ...trials.flatMap(({ phases }) => uploadsOf(phasesUntil(now, phases)).map((one) => one.to))), [trials, now]);
  const virtual = useVirtualizer({ count: trials.length, getScrollElement: () => scroller.current, estimateSize: () => ROW_PX, overscan: 4 });
  const visible = virtual.getVirtualItems();
  const isNearEnd = (visible.at(-1)?.index ?? 0) > trials.length - AHEAD;
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [isNearEnd, hasNextPage, isFetchingNextPage, fetchNextPage]);
  if (error) return <Trouble error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading rows={10} />;
  if (trials.length === 0) return <Empty icon="clock" title="No trials yet" />;
  const from = Date.parse(experiment.started_at ?? experiment.created_at);
  const to = experiment.ended_at ? Math.max(Date.parse(experiment.ended_at), lastUpload) : now;
  return (
    <>
      <div className={css.head}>
        <PhaseKey uploads />
        <span className="muted number">{formatDuration((to - from) / 1000)} in total</span>
      </div>
      <div ref={scroller} className={css.rows} role="region" aria-label="Timeline of trials" tabIndex={0}>
        <div className={css.axis}>
          <TimeAxis from={from} to={to} most={8} />
        </div>
        <ol style={{ height: virtual.getTotalSize() }}>
          {visible.map(({ index, start }) => {
            const trial = trials[index];
            return trial && <Row key={trial.trial} experiment={experiment.number} trial={trial} from={from} to={to} now={now} start={start} />;
          })}
        </ol>
      </div>
    </>
  );
}

interface RowProps {
  experiment: number;
  trial: Resource<"TrialPhases">;
  from: number;
  to: number;
  now: number;
  start: number;
}

function Row({ experiment, trial, from, to, now, start }: RowProps) {
  const phases = useMemo(() => phasesUntil(now, trial.phases), [trial, now]);
  const checkpoints = useQuery(checkpointsQuery(trial.trial));
  const name = `${experiment}.${trial.trial_number}`;
  return (
    <li style={{ transform: `translateY(${start}px)` }}>
      <Link to="/trials/$trial/$tab" params={{ trial: name, tab: "runs" }}>
        {name}
      </Link>
      <State state={trial.state} quiet />
      <PhaseTrack phases={mainOf(phases)} uploads={uploadsOf(phases)} checkpoints={checkpoints.data?.items ?? NONE} from={from} to={to} />
    </li>
  );
}

function phasesQuery(experiment: string) {
  return {
    queryKey: keys.ofExperiment(experiment, "phases"),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }: { pageParam: string; signal: AbortSignal }) =>
      ask(api.GET("/v1/experiments/{experiment}/phases", { params: { path: { experiment }, query: { limit: PAGE, cursor: pageParam || undefined } }, signal })),
    getNextPageParam: (page: Resource<"TrialPhasesPage">) => page.next_cursor || undefined,
  };
}
