/** Live values of one metric from the experiment's stream, while its curves are shown. */
import { useEffect, useState } from "react";
import type { Resource } from "@/api/types";
import { follow } from "@/live/socket";
import type { Metric } from "./rows";

type Value = Resource<"ReportedValue">;
type Series = Resource<"MetricSeries">;
type Point = Series["points"][number];

/** Values are batched for this long before curves are redrawn, to keep scrolling smooth. */
const GATHER_MS = 500;
/** After this many values of one trial, its curves are refetched, so that points are thinned and memory stays bounded. */
const MOST_OF_A_TRIAL = 120;

/** Values since the last refetch and of the round before, because a response may still be pending. */
export class Reported {
  /** A change causes a refetch of the curves. */
  round = 0;
  private now = new Map<string, Point[]>();
  private before = new Map<string, Point[]>();
  private joined = new Map<string, readonly Point[]>();

  take({ trial, step, run, time, value, not_finite }: Value): void {
    const own = this.now.get(trial);
    const point = { step, run, time, value, not_finite };
    if (own) own.push(point);
    else this.now.set(trial, [point]);
    this.joined.delete(trial);
    if (own && own.length >= MOST_OF_A_TRIAL) this.nextRound();
  }

  /** Starts a new round: earlier responses may lack the values from here on. */
  nextRound(): void {
    this.round += 1;
    this.before = this.now;
    this.now = new Map();
    this.joined.clear();
  }

  has(trial: string): boolean {
    return this.now.has(trial) || this.before.has(trial);
  }

  /** Returns the values of one trial; the same list until there are more. */
  of(trial: string): readonly Point[] {
    const known = this.joined.get(trial);
    if (known) return known;
    const points = [...(this.before.get(trial) ?? []), ...(this.now.get(trial) ?? [])];
    this.joined.set(trial, points);
    return points;
  }
}

/** Merges points of a response with later values. A later run replaces points from its first step on, as the registry does. */
export function extended(known: Point[], since: readonly Point[]): Point[] {
  let points = known;
  for (const point of since) {
    const last = points.at(-1);
    const isNewRun = last !== undefined && point.run > last.run;
    if (last !== undefined && !isNewRun && (point.run < last.run || point.step <= last.step)) continue;
    if (isNewRun) points = points.filter(({ step }) => step < point.step);
    else if (points === known) points = [...known];
    points.push(point);
  }
  return points;
}

/** Returns live values of a metric, updated twice per second; null while nothing is followed. */
export function useReported(experiment: number, { group, name }: Metric, isWanted: boolean): { reported: Reported; at: number } | null {
  const [found, setFound] = useState<{ reported: Reported; at: number } | null>(null);
  useEffect(() => {
    setFound(null);
    if (!isWanted) return;
    const reported = new Reported();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const settle = () => {
      timer = undefined;
      setFound((before) => ({ reported, at: (before?.at ?? 0) + 1 }));
    };
    const later = () => (timer ??= setTimeout(settle, GATHER_MS));
    const end = follow({
      path: `/v1/experiments/${experiment}/metrics/follow?${new URLSearchParams({ group, name, from_now: "true", without_cursors: "true" })}`,
      isFromNow: true,
      onBegin: () => {
        reported.nextRound();
        later();
      },
      onItem: ({ data }) => {
        reported.take(data as Value);
        later();
      },
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [experiment, group, name, isWanted]);
  return found;
}
