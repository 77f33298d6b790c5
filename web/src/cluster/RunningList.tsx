import { Link } from "@tanstack/react-router";
import { counted } from "@/parts/format";
import { Elapsed } from "@/parts/Time";
import css from "./Queue.module.css";
import { slotsOf } from "./QueueRow";
import type { QueueEntry } from "./data";

/** The caller's running trials with their workers; collapsed at first. */
export function RunningList({ entries }: { entries: readonly QueueEntry[] }) {
  return (
    <details className={css.running}>
      <summary>{counted(entries.length, "trial of yours runs", "trials of yours run")} in this pool</summary>
      <ul>
        {entries.map((entry) => (
          <li key={entry.trial}>
            <Link to="/trials/$trial" params={{ trial: entry.trial }} className={css.trial}>
              {entry.experiment_number}.{entry.trial_number}
            </Link>
            <span className="number">{slotsOf(entry)} on</span>
            <span className={css.where}>{entry.held?.map((one) => one.worker).join(", ") || "–"}</span>
            <span className="muted">
              <Elapsed from={entry.since} to={null} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
