import { useRef, type ReactNode } from "react";
import { Card } from "./Page";
import css from "./PlainTable.module.css";
import { useOverflows } from "./useOverflows";

/**
 * A table of few rows with plain `thead` and `tbody`. Cells with `data-end` are right-aligned, cells with `data-wraps` wrap,
 * rows with `data-opens` are clickable, and a row with `data-at` is highlighted.
 */
export function PlainTable({ children }: { children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null);
  const isWide = useOverflows(frame);
  return (
    <Card className={css.framed} ref={frame} tabIndex={isWide ? 0 : undefined}>
      <table>{children}</table>
    </Card>
  );
}
