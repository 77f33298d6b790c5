import { formatMoment } from "@/parts/format";
import { timeMarks } from "./timeAxis";
import css from "./TimeAxis.module.css";

interface TimeAxisProps {
  from: number;
  to: number;
  /** Maximum number of marks. */
  most?: number;
}

/** Time axis of a track. */
export function TimeAxis({ from, to, most = 6 }: TimeAxisProps) {
  const whole = Math.max(1, to - from);
  return (
    <span className={css.axis} role="img" aria-label={`from ${formatMoment(new Date(from))} to ${formatMoment(new Date(to))}`}>
      {timeMarks(from, to, most).map(({ at, label }) => (
        <span key={at} className={css.mark} title={formatMoment(new Date(at))} style={{ left: `${(100 * (at - from)) / whole}%` }}>
          {label}
        </span>
      ))}
    </span>
  );
}
