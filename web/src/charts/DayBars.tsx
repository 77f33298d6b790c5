import css from "./DayBars.module.css";
import { topOf, type Series } from "./days";

interface DayBarsProps {
  /** What is drawn, such as "slot-hours". */
  label: string;
  days: readonly string[];
  series: readonly Series[];
  say: (value: number) => string;
}

/** Bars side by side, one a day, of parts one upon another; the first series stands at the foot. The ninth and later share a quiet colour. */
export function DayBars({ label, days, series, say }: DayBarsProps) {
  const wholes = days.map((_, at) => series.reduce((sum, one) => sum + (one.values[at] ?? 0), 0));
  const most = Math.max(0, ...wholes);
  const top = topOf(most);
  const every = Math.ceil(days.length / 8);
  return (
    <figure className={css.figure}>
      <div className={css.ground} role="img" aria-label={`${label} by day, ${days[0]} to ${days.at(-1)}, at most ${say(most)} on ${days[wholes.indexOf(most)]}`}>
        <div className={css.scale} aria-hidden="true">
          {[top, top / 2, 0].map((value) => (
            <span key={value}>{say(value)}</span>
          ))}
        </div>
        <div className={css.bars}>
          {days.map((day, at) => (
            <div key={day} className={css.day} title={saidOf(day, at, wholes[at] ?? 0, series, say)}>
              {series.map((one, place) => (
                <span key={one.name} data-colour={place < 8 ? place + 1 : undefined} style={{ height: `${(100 * (one.values[at] ?? 0)) / top}%` }} />
              ))}
              {at % every === 0 && <small>{shortOf(day)}</small>}
            </div>
          ))}
        </div>
      </div>
      <figcaption>
        <ul className={css.legend}>
          {series.map((one, place) => (
            <li key={one.name}>
              <span data-colour={place < 8 ? place + 1 : undefined} />
              {one.name}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

/** The day and what each has of it, line by line. */
function saidOf(day: string, at: number, whole: number, series: readonly Series[], say: (value: number) => string): string {
  const parts = series.filter((one) => (one.values[at] ?? 0) > 0).map((one) => `${one.name}: ${say(one.values[at] ?? 0)}`);
  return [`${day}: ${say(whole)}`, ...parts].join("\n");
}

function shortOf(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}
