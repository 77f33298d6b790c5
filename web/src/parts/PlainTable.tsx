import { useRef, type ReactNode } from "react";
import { Card } from "./Page";
import css from "./PlainTable.module.css";
import { useOverflows } from "./useOverflows";

/**
 * A table of few rows, all of them drawn: `thead` and `tbody` as one writes them. A cell with `data-end` stands at the right, as numbers do, and
 * one with `data-wraps` takes several lines; a row with `data-opens` is pressed, and one with `data-at` is lit up.
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
