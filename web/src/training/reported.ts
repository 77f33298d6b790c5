/** What trials report while somebody looks at their curves: values of one metric, off the experiment's own stream. */
import { useEffect, useState } from "react";
import type { Resource } from "@/api/types";
import { follow } from "@/live/socket";
import type { Metric } from "./rows";

type Value = Resource<"ReportedValue">;
type Series = Resource<"MetricSeries">;
type Point = Series["points"][number];

/** Values are collected for this long before the curves are drawn again: scrolling needs the rest of the page's time. */
const GATHER_MS = 500;
/** When one trial has told so many, the curves are asked again: thinned as others are, and what is held does not grow. */
const MOST_OF_A_TRIAL = 120;

/** What was told since the curves were last asked, and in the round before: an answer may still be on its way. */
export class Reported {
  /** Another one means that the curves are to be asked again. */
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
    if (own && own.length >= MOST_OF_A_TRIAL) this.turn();
  }

  /** From here on is told what no answer before may have held. */
  turn(): void {
    this.round += 1;
    this.before = this.now;
    this.now = new Map();
    this.joined.clear();
  }

  has(trial: string): boolean {
    return this.now.has(trial) || this.before.has(trial);
  }

  /** What one trial told; the same list until it tells more. */
  of(trial: string): readonly Point[] {
    const known = this.joined.get(trial);
    if (known) return known;
    const points = [...(this.before.get(trial) ?? []), ...(this.now.get(trial) ?? [])];
    this.joined.set(trial, points);
    return points;
  }
}

/** Points of an answer and those told since. A later run counts from its first step on, as it does where all are stored. */
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

/** A metric's values as they are reported, twice a second; null while nothing is followed. */
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
        reported.turn();
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
