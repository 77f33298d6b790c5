import { counted, formatMoment } from "@/parts/format";
import { useNow } from "@/parts/Time";
import css from "./Queue.module.css";
import { soon } from "./Starts";
import type { Explanation } from "./data";

/** The expected start with its 80 % interval, on a line from now to the end of the interval. */
export function StartBand({ start }: { start: Explanation["expected_start"] }) {
  const now = useNow();
  if (!start) {
    return (
      <section>
        <h3>Expected start</h3>
        <p className="muted">Unknown: too few runs have ended for an estimate, or the trial waits for more than the end of runs.</p>
      </section>
    );
  }
  const [earliest, expected, latest] = [start.earliest, start.expected, start.latest].map((at) => Math.max(0, new Date(at).getTime() - now.getTime()));
  const whole = Math.max(latest ?? 0, 1) * 1.06;
  const percent = (at: number | undefined) => `${(100 * (at ?? 0)) / whole}%`;
  return (
    <section>
      <h3>Expected start</h3>
      <p className={css.expected}>{soon(new Date(start.expected), now)}</p>
      <div className={css.band} role="img" aria-label={`With 80 % probability between ${formatMoment(new Date(start.earliest))} and ${formatMoment(new Date(start.latest))}`}>
        <span className={css.spread} style={{ left: percent(earliest), width: percent((latest ?? 0) - (earliest ?? 0)) }} />
        <span className={css.likely} style={{ left: percent(expected) }} />
      </div>
      <div className={css.scale}>
        <span>now</span>
        <span>{soon(new Date(start.latest), now)}</span>
      </div>
      <p className={css.small}>80 % interval, estimated from {counted(start.runs, "ended run")}.</p>
    </section>
  );
}
