/** The lines of a table, and how one walks and ticks them. Pure. */
import type { Row } from "@tanstack/react-table";
import type { ReactNode } from "react";

/** Rows that have something in common, under a line of their own by which they are opened and closed. */
export interface Group<Item> {
  id: string;
  head: ReactNode;
  isOpen: boolean;
  /** Those that are loaded, where it is open. */
  items: readonly Item[];
  /** What stands below its rows, and what it leads to. */
  foot?: { said: string; onOpen?: () => void };
}

export type Line<Item> =
  | { kind: "row"; key: string; id: string; row: Row<Item> }
  | { kind: "head" | "foot"; key: string; id?: undefined; group: Group<Item> };

/** Each row with its group's lines around it; an item may stand in several groups. */
export function linesOf<Item>(rows: readonly Row<Item>[], idOf: (item: Item) => string, groups?: readonly Group<Item>[]): Line<Item>[] {
  const lineOf = (row: Row<Item>, within = ""): Line<Item> => ({ kind: "row", key: within + idOf(row.original), id: idOf(row.original), row });
  if (groups === undefined) return rows.map((row) => lineOf(row));
  let at = 0;
  return groups.flatMap((group) => {
    const head: Line<Item> = { kind: "head", key: `${group.id} head`, group };
    if (!group.isOpen) return [head];
    const held = rows.slice(at, (at += group.items.length)).map((row) => lineOf(row, `${group.id} `));
    return [head, ...held, ...(group.foot ? [{ kind: "foot" as const, key: `${group.id} foot`, group }] : [])];
  });
}

/** The ticked ones after line `index` was turned; with those from `anchor` on to it, where a range was meant. Lines without an id are no rows. */
export function ticking(ticked: ReadonlySet<string> | undefined, ids: readonly (string | undefined)[], index: number, anchor: number): Set<string> {
  const next = new Set(ticked);
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

/** What a key does at a line: go to another one, open what stands there, turn its group, or tick it; undefined where the key is none of the table's. */
export type Step = { to: number } | "open" | "turn" | "tick" | undefined;

export function stepOf<Item>(key: string, lines: readonly Line<Item>[], at: number): Step {
  const line = lines[at];
  const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 15, PageUp: at - 15, Home: 0, End: lines.length - 1 };
  const move = moves[key];
  if (move !== undefined) return { to: Math.max(0, Math.min(lines.length - 1, move)) };
  if (line === undefined) return undefined;
  if (key === "ArrowRight" && line.kind === "head") return line.group.isOpen ? { to: Math.min(lines.length - 1, at + 1) } : "turn";
  if (key === "ArrowLeft") return line.kind === "head" ? (line.group.isOpen ? "turn" : undefined) : headOf(lines, at);
  if (key === "Enter") return line.kind === "head" ? "turn" : "open";
  if (key === " ") return line.kind === "head" ? "turn" : line.kind === "row" ? "tick" : undefined;
  return undefined;
}

function headOf<Item>(lines: readonly Line<Item>[], at: number): Step {
  const to = lines.slice(0, at).findLastIndex((line) => line.kind === "head");
  return to < 0 ? undefined : { to };
}
