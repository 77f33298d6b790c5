import type { ReactNode } from "react";
import { Card } from "./Page";
import css from "./PlainTable.module.css";

/**
 * A table of few rows, all of them drawn: `thead` and `tbody` as one writes them. A cell with `data-end` stands at the right, as numbers do, and
 * one with `data-wraps` takes several lines; a row with `data-opens` is pressed, and one with `data-at` is lit up.
 */
export function PlainTable({ children }: { children: ReactNode }) {
  return (
    <Card className={css.framed}>
      <table>{children}</table>
    </Card>
  );
}
