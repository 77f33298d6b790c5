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

/** The present, to five seconds: one clock for the whole page. */
export function useNow(): Date {
  return useSyncExternalStore(subscribe, () => now);
}

/** How long ago, with the moment in the reader's zone behind it. */
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

/** How long something took, or has taken so far. */
export function Elapsed({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  const present = useNow();
  if (!from) return <span className="muted">–</span>;
  const end = to ? new Date(to) : present;
  return <span className="number">{formatDuration((end.getTime() - new Date(from).getTime()) / 1000)}</span>;
}
