/** Marks and labels of a time axis. Pure. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS: readonly number[] = [
  ...[100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * DAY),
];

export interface TimeMark {
  /** In milliseconds since 1970. */
  at: number;
  label: string;
}

/** Returns marks at round local times, at most `most + 1`; local time is `zoneMs` ahead of UTC. */
export function timeMarks(from: number, to: number, most: number, zoneMs = -new Date(from).getTimezoneOffset() * MINUTE): TimeMark[] {
  const step = STEPS.find((one) => (to - from) / one <= most) ?? Math.ceil((to - from) / most / (364 * DAY)) * 364 * DAY;
  const marks: TimeMark[] = [];
  for (let at = Math.ceil((from + zoneMs) / step) * step; at <= to + zoneMs; at += step) marks.push({ at: at - zoneMs, label: labelOf(at, step) });
  return marks;
}

/** `shifted` is a time whose UTC representation is the local time. */
function labelOf(shifted: number, step: number): string {
  const [date = "", clock = ""] = new Date(shifted).toISOString().split("T");
  if (step >= DAY) return date;
  if (step >= MINUTE) return clock.slice(0, 5);
  return step >= SECOND ? clock.slice(0, 8) : clock.slice(0, 10);
}
