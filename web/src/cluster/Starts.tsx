import { formatDuration, formatMoment } from "@/parts/format";
import { useNow } from "@/parts/Time";
import type { QueueEntry } from "./data";

type Start = NonNullable<QueueEntry["expected_start"]>;

/** The expected start; the tooltip has its 80 % interval. */
export function Starts({ start }: { start: Start | null | undefined }) {
  const now = useNow();
  if (!start) return <span className="muted" title="Too few runs have ended for an estimate, or the trial waits for more than the end of runs">unknown</span>;
  const title = `with 80 % probability between ${formatMoment(new Date(start.earliest))} and ${formatMoment(new Date(start.latest))}`;
  return (
    <time dateTime={start.expected} title={title} className="number">
      {soon(new Date(start.expected), now)}
    </time>
  );
}

/** Formats a time in the future: `in ~4 min`, or `any moment` if it has passed. */
export function soon(then: Date, now: Date): string {
  const seconds = (then.getTime() - now.getTime()) / 1000;
  if (seconds < 5) return "any moment";
  return `in ~${formatDuration(rounded(seconds))}`;
}

/** Rounds an estimate to a precision that fits its size. */
function rounded(seconds: number): number {
  const unit = seconds < 60 ? 5 : seconds < 3600 ? 60 : seconds < 86400 ? 600 : 3600;
  return Math.round(seconds / unit) * unit;
}
