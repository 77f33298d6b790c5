/** Rows with line numbers of one text, or of the difference of two. Pure. */
import { diffArrays } from "diff";

export type RowKind = "same" | "deleted" | "new" | "left-out";

export interface LineRow {
  kind: RowKind;
  /** Line numbers in the other text and in this one, from 1. */
  before: number | null;
  after: number | null;
  text: string;
}

/** Number of unchanged lines around each change. */
const AROUND = 3;
/** Texts that differ in more lines are shown one after the other, because a diff would take seconds. */
const MOST_CHANGES = 1000;

export function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export function plainRows(text: string): LineRow[] {
  return linesOf(text).map((line, at) => ({ kind: "same", before: null, after: at + 1, text: line }));
}

/** Returns the difference of two texts. Unchanged lines far from any change become one row with their number, unless `isWhole`. */
export function changedRows(before: string, after: string, isWhole: boolean): LineRow[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const parts = diffArrays(old, now, { maxEditLength: MOST_CHANGES }) ?? [
    { value: old, removed: true, added: false },
    { value: now, removed: false, added: true },
  ];
  let [left, right] = [0, 0];
  const rows = parts.flatMap(({ value, added, removed }) =>
    value.map((text): LineRow => {
      if (added) return { kind: "new", before: null, after: (right += 1), text };
      if (removed) return { kind: "deleted", before: (left += 1), after: null, text };
      return { kind: "same", before: (left += 1), after: (right += 1), text };
    }),
  );
  return isWhole ? rows : folded(rows);
}

function folded(rows: readonly LineRow[]): LineRow[] {
  const isNear = new Uint8Array(rows.length);
  rows.forEach(({ kind }, at) => {
    if (kind !== "same") isNear.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  const found: LineRow[] = [];
  let hidden = 0;
  rows.forEach((row, at) => {
    if (isNear[at] === 0) {
      hidden += 1;
      return;
    }
    if (hidden > 0) found.push(leftOut(hidden));
    hidden = 0;
    found.push(row);
  });
  return hidden > 0 && found.length > 0 ? [...found, leftOut(hidden)] : found;
}

function leftOut(count: number): LineRow {
  return { kind: "left-out", before: null, after: null, text: `${count.toLocaleString("en-US")} ${count === 1 ? "unchanged line" : "unchanged lines"}` };
}
