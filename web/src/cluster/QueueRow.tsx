import { Icon } from "@/parts/Icon";
import { Elapsed } from "@/parts/Time";
import css from "./Queue.module.css";
import { Starts } from "./Starts";
import type { QueueEntry } from "./data";
import type { Handle } from "./useMoving";

interface QueueRowProps {
  entry: QueueEntry;
  start: number;
  height: number;
  isChosen: boolean;
  isMoved: boolean;
  /** The trial belongs to the experiment that is being moved. */
  isSameExperiment: boolean;
  onChoose: () => void;
  handle?: Handle;
}

export function QueueRow({ entry, start, height, isChosen, isMoved, isSameExperiment, onChoose, handle }: QueueRowProps) {
  const name = `${entry.experiment_number}.${entry.trial_number}`;
  return (
    <li className={css.row} style={{ transform: `translateY(${start}px)`, height }} data-chosen={isChosen || undefined} data-moved={isMoved || undefined} data-along={isSameExperiment || undefined}>
      {handle ? (
        <button type="button" className={css.handle} aria-label={`Move trial ${name}: choose a position with the arrow keys, then press Enter`} title="Drag, or use the arrow keys and Enter" {...handle}>
          <span aria-hidden="true" />
        </button>
      ) : (
        <span />
      )}
      <span className={`${css.place} number`}>{entry.position ?? "–"}</span>
      <button type="button" className={css.trial} aria-pressed={isChosen} aria-label={`Trial ${name}: explain why it waits`} onClick={onChoose}>
        {name}
      </button>
      <span className={`${css.priority} number`}>{entry.priority}</span>
      <span className={`${css.slots} number`}>
        {slotsOf(entry)}
        <span> {slotsOf(entry) === "1" ? "slot" : "slots"}</span>
      </span>
      <span className={css.why} title={entry.reason ?? undefined}>
        {entry.reason ?? "–"}
      </span>
      <span className={css.starts}>
        <Starts start={entry.expected_start} />
      </span>
      <span className={`${css.since} muted`}>
        <Elapsed from={entry.since} to={null} />
      </span>
      <span className={css.more} aria-hidden="true">
        <Icon name="chevronRight" size={14} />
      </span>
    </li>
  );
}

/** Formats the slots as the command line does: `4`, `2 to 8`, `0.5`. */
export function slotsOf(entry: QueueEntry): string {
  if (entry.slot_fraction) return String(entry.slot_fraction);
  if (entry.min_slots != null && entry.max_slots != null && entry.min_slots !== entry.max_slots) {
    return entry.state === "running" ? `${entry.slots} (${entry.min_slots} to ${entry.max_slots})` : `${entry.min_slots} to ${entry.max_slots}`;
  }
  return String(entry.slots);
}
