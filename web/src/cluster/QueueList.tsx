import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { useIsPhone } from "@/parts/useIsPhone";
import css from "./Queue.module.css";
import { QueueRow } from "./QueueRow";
import type { QueueEntry } from "./data";
import { planMove, type Move } from "./priority";
import { useMoving } from "./useMoving";

const ROW_PX = 46;
const CARD_PX = 92;

interface QueueListProps {
  entries: readonly QueueEntry[];
  chosen: string | null;
  onChoose: (entry: QueueEntry) => void;
  /** Undefined where the pool or the role does not permit changing priorities. */
  onMove?: (move: Move) => void;
}

/** The waiting trials; only visible rows are rendered. */
export function QueueList({ entries, chosen, onChoose, onMove }: QueueListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const row = useIsPhone() ? CARD_PX : ROW_PX;
  const virtual = useVirtualizer({ count: entries.length, getScrollElement: () => scroller.current, estimateSize: () => row, overscan: 10 });
  const moving = useMoving({ entries, scroller, row, onMove });
  const planned = moving.state && planMove(entries, moving.state.at, moving.state.to);
  const moved = moving.state ? entries[moving.state.at] : undefined;
  return (
    <>
      <div className={css.head} aria-hidden="true">
        <span />
        <span>Position</span>
        <span>Trial</span>
        <span>Priority</span>
        <span>Slots</span>
        <span>Reason</span>
        <span>Starts</span>
        <span>Waiting for</span>
      </div>
      <div ref={scroller} className={css.scroller} data-moving={moving.state !== null || undefined}>
        <ol className={css.rows} style={{ height: virtual.getTotalSize() }} aria-label="Waiting trials in scheduling order">
          {virtual.getVirtualItems().map(({ index, start }) => {
            const entry = entries[index];
            if (entry === undefined) return null;
            return (
              <QueueRow
                key={entry.trial}
                entry={entry}
                start={start}
                height={row}
                isChosen={entry.trial === chosen}
                isMoved={entry.trial === moved?.trial}
                isSameExperiment={moved !== undefined && entry.experiment === moved.experiment}
                onChoose={() => onChoose(entry)}
                handle={onMove && moving.handleOf(index)}
              />
            );
          })}
          {moving.state && (
            <li className={css.mark} data-top={moving.state.to === 0 || undefined} style={{ transform: `translateY(${moving.state.to * row - 1}px)` }} aria-hidden="true">
              <span>{planned ? `experiment ${planned.experiment}: priority ${planned.from} → ${planned.to}` : "no change"}</span>
            </li>
          )}
        </ol>
      </div>
      <p className="unseen" role="status">
        {moving.state && (planned ? `Position ${moving.state.to + 1}: experiment ${planned.experiment} from priority ${planned.from} to ${planned.to}. Press Enter to confirm, Escape to cancel.` : "No change")}
      </p>
    </>
  );
}
