/** Lines of a table, keyboard steps and selection. Pure. */
import type { Row } from "@tanstack/react-table";
import type { ReactNode } from "react";

/** Rows under a common heading that opens and closes them. */
export interface Group<Item> {
  id: string;
  head: ReactNode;
  isOpen: boolean;
  /** The loaded items, if the group is open. */
  items: readonly Item[];
  /** A line below the rows, with an action. */
  foot?: { text: string; onOpen?: () => void };
}

export type Line<Item> =
  | { kind: "row"; key: string; id: string; row: Row<Item> }
  | { kind: "head" | "foot"; key: string; id?: undefined; group: Group<Item> };

/** Returns the rows with the lines of their groups; an item can be in several groups. */
export function linesOf<Item>(rows: readonly Row<Item>[], idOf: (item: Item) => string, groups?: readonly Group<Item>[]): Line<Item>[] {
  const lineOf = (row: Row<Item>, within = ""): Line<Item> => ({ kind: "row", key: within + idOf(row.original), id: idOf(row.original), row });
  if (groups === undefined) return rows.map((row) => lineOf(row));
  let at = 0;
  return groups.flatMap((group) => {
    const head: Line<Item> = { kind: "head", key: `${group.id} head`, group };
    if (!group.isOpen) return [head];
    const own = rows.slice(at, (at += group.items.length)).map((row) => lineOf(row, `${group.id} `));
    return [head, ...own, ...(group.foot ? [{ kind: "foot" as const, key: `${group.id} foot`, group }] : [])];
  });
}

/** Returns the selection after line `index` is toggled, for a range together with the lines from `anchor`. Lines without an id are not rows. */
export function toggleSelection(selected: ReadonlySet<string> | undefined, ids: readonly (string | undefined)[], index: number, anchor: number): Set<string> {
  const next = new Set(selected);
  const id = ids[index];
  if (id === undefined) return next;
  const isOn = !next.has(id);
  const from = anchor < 0 ? index : Math.min(anchor, index);
  for (const one of ids.slice(from, Math.max(anchor, index) + 1)) {
    if (one === undefined) continue;
    if (isOn) next.add(one);
    else next.delete(one);
  }
  return next;
}

/** Returns the effect of a key at a line: move, open, toggle the group or select the row; undefined for other keys. */
export type Step = { to: number } | "open" | "toggle" | "select" | undefined;

export function stepOf<Item>(key: string, lines: readonly Line<Item>[], at: number): Step {
  const line = lines[at];
  const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 15, PageUp: at - 15, Home: 0, End: lines.length - 1 };
  const move = moves[key];
  if (move !== undefined) return { to: Math.max(0, Math.min(lines.length - 1, move)) };
  if (line === undefined) return undefined;
  if (key === "ArrowRight" && line.kind === "head") return line.group.isOpen ? { to: Math.min(lines.length - 1, at + 1) } : "toggle";
  if (key === "ArrowLeft") return line.kind === "head" ? (line.group.isOpen ? "toggle" : undefined) : headOf(lines, at);
  if (key === "Enter") return line.kind === "head" ? "toggle" : "open";
  if (key === " ") return line.kind === "head" ? "toggle" : line.kind === "row" ? "select" : undefined;
  return undefined;
}

function headOf<Item>(lines: readonly Line<Item>[], at: number): Step {
  const to = lines.slice(0, at).findLastIndex((line) => line.kind === "head");
  return to < 0 ? undefined : { to };
}
