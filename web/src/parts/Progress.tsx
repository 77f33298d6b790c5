import css from "./Progress.module.css";
import { toneOf } from "./State";

/** A progress bar; `value` is from 0 to 1. */
export function Progress({ value, state, label }: { value: number; state: string; label: string }) {
  const percent = Math.round(Math.min(1, Math.max(0, value)) * 100);
  return (
    <span className={css.progress} role="progressbar" aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100} aria-label={label}>
      <span className={css.track}>
        <span className={`${css.fill} ${css[toneOf(state)]}`} style={{ width: `${percent}%` }} />
      </span>
      <span className={`${css.percent} number`}>{percent} %</span>
    </span>
  );
}
