/**
 * A table of thousands of rows, of which only visible ones are rendered. Columns can be hidden, resized and sorted by; rows can be selected and
 * walked with the keyboard (arrows, Home, End; Enter opens, space selects). Rows can be grouped; right and left arrow open and close a group.
 * On a phone each row is rendered by `card`.
 */
import { getCoreRowModel, useReactTable, type ColumnDef, type Table } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useIsPhone } from "../useIsPhone";
import css from "./DataTable.module.css";
import { Head } from "./Head";
import { linesOf, stepOf, toggleSelection } from "./lines";
import { LineView } from "./LineView";
import type { Column, DataTableProps } from "./props";

const ROW_PX = 38;
const CARD_PX = 92;
const GROUP_PX = 42;
const WIDTH_PX = 140;

export function DataTable<Item>(props: DataTableProps<Item>) {
  const { items, columns, idOf, groups, card, onEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const isCards = useIsPhone() && card !== undefined;
  const [at, setAt] = useState(-1);
  const [anchor, setAnchor] = useState(-1);
  const table = useReactTable({
    data: items as Item[],
    columns: columns.map(toDefinition),
    getCoreRowModel: getCoreRowModel(),
    columnResizeMode: "onChange",
  });
  const { rows } = table.getRowModel();
  const lines = useMemo(() => linesOf(rows, idOf, groups), [rows, idOf, groups]);
  const size = isCards ? CARD_PX : ROW_PX;
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => lines[index]?.key ?? index, [lines]),
    estimateSize: (index) => (lines[index]?.kind === "row" ? size : GROUP_PX),
    overscan: 12,
  });
  const visible = virtual.getVirtualItems();
  const isAtEnd = (visible.at(-1)?.index ?? -1) >= lines.length - 20;
  useEffect(() => virtual.measure(), [virtual, size]);
  useEffect(() => {
    if (isAtEnd && lines.length > 0) onEnd?.();
  }, [isAtEnd, lines.length, onEnd]);
  const tick = (index: number, isRange: boolean) => {
    props.onTicked?.(toggleSelection(props.ticked, lines.map((line) => line.id), index, isRange ? anchor : index));
    setAnchor(index);
  };
  const onKey = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).matches("button, a, input[type=text]")) return;
    const step = stepOf(event.key, lines, at);
    const line = lines[at];
    if (step === undefined) return;
    event.preventDefault();
    if (typeof step === "object") {
      setAt(step.to);
      virtual.scrollToIndex(step.to);
    } else if (line?.kind === "row") {
      if (step === "open") props.onOpen?.(line.row.original, event.ctrlKey || event.metaKey);
      else if (props.onTicked) tick(at, event.shiftKey);
    } else if (step === "toggle") props.onToggle?.(line?.group.id ?? "");
    else line?.group.foot?.onOpen?.();
  };
  if (lines.length === 0 && props.empty) return <>{props.empty}</>;
  const width = widthOf(table, props);
  return (
    <div
      ref={scroller}
      className={css.scroller}
      role={groups ? "treegrid" : "grid"}
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={groups ? lines.length : (props.total ?? lines.length)}
      aria-activedescendant={at >= 0 ? `${props.label}-${at}` : undefined}
      onKeyDown={onKey}
    >
      {!isCards && <Head table={table} props={props} width={width} />}
      <div role="rowgroup" className={css.rows} style={{ height: virtual.getTotalSize(), minWidth: isCards ? undefined : width }}>
        {visible.map(({ index, start }) => {
          const line = lines[index];
          if (line === undefined) return null;
          return (
            <LineView key={line.key} line={line} index={index} start={start} isAt={index === at} isCards={isCards} props={props} tick={tick} onAt={() => setAt(index)} />
          );
        })}
      </div>
    </div>
  );
}

function toDefinition<Item>(column: Column<Item>): ColumnDef<Item> {
  return {
    id: column.id,
    header: column.header,
    size: column.width ?? WIDTH_PX,
    minSize: 56,
    cell: ({ row }) => column.cell(row.original),
  };
}

function widthOf<Item>(table: Table<Item>, props: DataTableProps<Item>): number {
  return table.getTotalSize() + (props.onTicked ? 40 : 0) + 32;
}
