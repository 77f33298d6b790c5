/** Thousands of lines of code, of which only visible ones are rendered. Their content is always text, never markup. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import css from "./Code.module.css";
import type { LineRow } from "./lines";

/** WCAG 2.2: targets are at least 24 px high. */
const LINE_PX = 24;
/** Longer lines are truncated, because files without line endings would block the page. */
const MOST_CHARS = 2000;
const SIGNS = { same: " ", deleted: "−", new: "+", "left-out": "" } as const;

interface LinesProps {
  label: string;
  rows: readonly LineRow[];
  /** Shows the line numbers of both versions. */
  isTwo: boolean;
  /** The line that the URL points to. */
  at?: number;
  onLine: (line: number) => void;
  onWhole: () => void;
}

export function Lines({ label, rows, isTwo, at, onLine, onWhole }: LinesProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => LINE_PX, overscan: 30 });
  const position = at === undefined ? -1 : rows.findIndex(({ after }) => after === at);
  useEffect(() => {
    if (position >= 0) virtual.scrollToIndex(position, { align: "center" });
  }, [position, virtual]);
  return (
    <div ref={scroller} className={css.lines} role="region" aria-label={label} tabIndex={0}>
      <div style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          return row && <Line key={index} row={row} start={start} isTwo={isTwo} isAt={index === position} onLine={onLine} onWhole={onWhole} />;
        })}
      </div>
    </div>
  );
}

interface LineProps extends Pick<LinesProps, "isTwo" | "onLine" | "onWhole"> {
  row: LineRow;
  start: number;
  isAt: boolean;
}

function Line({ row, start, isTwo, isAt, onLine, onWhole }: LineProps) {
  const { kind, before, after, text } = row;
  const style = { transform: `translateY(${start}px)` };
  if (kind === "left-out") {
    return (
      <button type="button" className={css.leftOut} style={style} onClick={onWhole}>
        {text}: show them
      </button>
    );
  }
  return (
    <div className={css.line} data-kind={kind} data-at={isAt || undefined} style={style}>
      {isTwo && <span className={css.number}>{before}</span>}
      {after === null ? (
        <span className={css.number} />
      ) : (
        <button type="button" className={css.number} aria-label={`Line ${after}: link to this line`} onClick={() => onLine(after)}>
          {after}
        </button>
      )}
      {isTwo && (
        <span className={css.sign} aria-label={kind === "deleted" ? "deleted" : kind === "new" ? "new" : undefined}>
          {SIGNS[kind]}
        </span>
      )}
      <span className={css.text}>{text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)} … (${(text.length - MOST_CHARS).toLocaleString("en-US")} more characters)` : text}</span>
    </div>
  );
}
