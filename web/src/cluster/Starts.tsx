import { formatDuration, formatMoment } from "@/parts/format";
import { useNow } from "@/parts/Time";
import type { QueueEntry } from "./data";

type Start = NonNullable<QueueEntry["expected_start"]>;

/** When something will probably start, in one figure; its spread is told beside. */
export function Starts({ start }: { start: Start | null | undefined }) {
  const now = useNow();
  if (!start) return <span className="muted" title="Too few runs have ended to tell, or it waits for more than runs' ends">not known</span>;
  const title = `in eight of ten cases between ${formatMoment(new Date(start.earliest))} and ${formatMoment(new Date(start.latest))}`;
  return (
    <time dateTime={start.expected} title={title} className="number">
      {soon(new Date(start.expected), now)}
    </time>
  );
}

/** `in about 4 min`; what should have been is `any moment`. */
export function soon(then: Date, now: Date): string {
  const seconds = (then.getTime() - now.getTime()) / 1000;
  if (seconds < 5) return "any moment";
  return `in ~${formatDuration(rounded(seconds))}`;
}

/** An estimate has no seconds beyond a minute, and no minutes beyond a day. */
function rounded(seconds: number): number {
  const unit = seconds < 60 ? 5 : seconds < 3600 ? 60 : seconds < 86400 ? 600 : 3600;
  return Math.round(seconds / unit) * unit;
}
