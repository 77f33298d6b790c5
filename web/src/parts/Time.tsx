import { useSyncExternalStore } from "react";
import { formatAgo, formatDuration, formatMoment } from "./format";

const TICK_MS = 5000;
const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;
let now = new Date();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  now = new Date();
  ticking ??= setInterval(() => {
    now = new Date();
    for (const one of listeners) one();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
  };
}

/** The current time to five seconds, from one timer for the whole page. */
export function useNow(): Date {
  return useSyncExternalStore(subscribe, () => now);
}

/** A relative time; the tooltip has the time in the user's time zone. */
export function Time({ at }: { at: string | null | undefined }) {
  const present = useNow();
  if (!at) return <span className="muted">–</span>;
  const then = new Date(at);
  return (
    <time dateTime={at} title={formatMoment(then)} className="number">
      {formatAgo(then, present)}
    </time>
  );
}

/** A duration, up to now if it has not ended. */
export function Elapsed({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  const present = useNow();
  if (!from) return <span className="muted">–</span>;
  const end = to ? new Date(to) : present;
  return <span className="number">{formatDuration((end.getTime() - new Date(from).getTime()) / 1000)}</span>;
}
