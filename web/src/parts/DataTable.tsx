/**
 * Rows by the thousand: only those in sight are drawn. Columns are shown, hidden, made wider and sorted by; rows are ticked, and walked by keys
 * (arrows, Home, End; Enter opens, space ticks). On a phone each row is a card, where `card` says how.
 */
import { flexRender, getCoreRowModel, useReactTable, type ColumnDef, type Row, type Table } from "@tanstack/react-table";
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import css from "./DataTable.module.css";
import { Icon } from "./Icon";
import { useIsPhone } from "./useIsPhone";

export interface Column<Item> {
  id: string;
  header: string;
  cell: (item: Item) => ReactNode;
  width?: number;
  /** Numbers stand at the right. */
  end?: boolean;
  /** The name that the list is sorted by; none: it cannot be. */
  sort?: string;
}

export interface Order {
  by: string;
  isDown: boolean;
}

export interface DataTableProps<Item> {
  label: string;
  items: readonly Item[];
  columns: readonly Column<Item>[];
  idOf: (item: Item) => string;
  /** How many there are in all, where that is known; screen readers say it. */
  total?: number;
  order?: Order | null;
  onOrder?: (order: Order | null) => void;
  onOpen?: (item: Item, inNewTab: boolean) => void;
  ticked?: ReadonlySet<string>;
  onTicked?: (ticked: Set<string>) => void;
  /** Called when the end comes into sight. */
  onEnd?: () => void;
  card?: (item: Item) => ReactNode;
  empty?: ReactNode;
}

const ROW_PX = 38;
const CARD_PX = 92;
const WIDTH_PX = 140;

export function DataTable<Item>(props: DataTableProps<Item>) {
  const { items, columns, idOf, card, onEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const isCards = useIsPhone() && card !== undefined;
  const [at, setAt] = useState(-1);
  const [anchor, setAnchor] = useState(-1);
  const table = useReactTable({
    data: items as Item[],
    columns: columns.map(toDefinition),
    getRowId: idOf,
    getCoreRowModel: getCoreRowModel(),
    columnResizeMode: "onChange",
  });
  const rows = table.getRowModel().rows;
  const size = isCards ? CARD_PX : ROW_PX;
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => size, overscan: 12 });
  const shown = virtual.getVirtualItems();
  const isAtEnd = (shown.at(-1)?.index ?? -1) >= rows.length - 20;
  useEffect(() => virtual.measure(), [virtual, size]);
  useEffect(() => {
    if (isAtEnd && rows.length > 0) onEnd?.();
  }, [isAtEnd, rows.length, onEnd]);
  const tick = (index: number, isRange: boolean) => {
    props.onTicked?.(ticking(props.ticked, rows.map((row) => row.id), index, isRange ? anchor : index));
    setAnchor(index);
  };
  const onKey = (event: KeyboardEvent) => walk(event, { rows, at, setAt, virtual, open: props.onOpen, tick: props.onTicked && tick });
  if (items.length === 0 && props.empty) return <>{props.empty}</>;
  return (
    <div
      ref={scroller}
      className={css.scroller}
      role="grid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={props.total ?? rows.length}
      aria-activedescendant={at >= 0 ? `${props.label}-${at}` : undefined}
      onKeyDown={onKey}
    >
      {!isCards && <Head table={table} props={props} />}
      <div role="rowgroup" className={css.rows} style={{ height: virtual.getTotalSize(), minWidth: isCards ? undefined : widthOf(table, props) }}>
        {shown.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <Line key={row.id} row={row} index={index} start={start} isAt={index === at} isCards={isCards} props={props} tick={tick} onAt={() => setAt(index)} />
          );
        })}
      </div>
    </div>
  );
}

function Head<Item>({ table, props }: { table: Table<Item>; props: DataTableProps<Item> }) {
  const all = props.items.length > 0 && props.items.every((item) => props.ticked?.has(props.idOf(item)));
  return (
    <div role="row" className={css.head} style={{ minWidth: widthOf(table, props) }}>
      {props.onTicked && (
        <span role="columnheader" className={css.tick}>
          <input
            type="checkbox"
            aria-label="Tick all that are loaded"
            checked={all}
            onChange={() => props.onTicked?.(new Set(all ? [] : props.items.map(props.idOf)))}
          />
        </span>
      )}
      {table.getFlatHeaders().map((header) => {
        const column = props.columns.find((one) => one.id === header.column.id);
        const sort = column?.sort;
        const order = sort !== undefined && props.order?.by === sort ? props.order : null;
        return (
          <span
            key={header.id}
            role="columnheader"
            aria-sort={order ? (order.isDown ? "descending" : "ascending") : undefined}
            className={`${css.heading} ${column?.end ? css.end : ""}`}
            style={{ width: header.getSize(), flexGrow: header.getSize() }}
          >
            {sort !== undefined && props.onOrder ? (
              <button type="button" onClick={() => props.onOrder?.(turned(order, sort))}>
                {column?.header}
                {order && <Icon name={order.isDown ? "arrowDown" : "arrowUp"} size={12} />}
              </button>
            ) : (
              column?.header
            )}
            <span className={css.grip} onPointerDown={header.getResizeHandler()} aria-hidden="true" />
          </span>
        );
      })}
    </div>
  );
}

interface LineProps<Item> {
  row: Row<Item>;
  index: number;
  start: number;
  isAt: boolean;
  isCards: boolean;
  props: DataTableProps<Item>;
  tick: (index: number, isRange: boolean) => void;
  onAt: () => void;
}

function Line<Item>({ row, index, start, isAt, isCards, props, tick, onAt }: LineProps<Item>) {
  const isTicked = props.ticked?.has(row.id) ?? false;
  const open = (inNewTab: boolean) => props.onOpen?.(row.original, inNewTab);
  return (
    <div
      role="row"
      id={`${props.label}-${index}`}
      aria-rowindex={index + 1}
      aria-selected={props.onTicked ? isTicked : undefined}
      data-at={isAt || undefined}
      data-opens={props.onOpen ? true : undefined}
      className={isCards ? css.card : css.row}
      style={{ transform: `translateY(${start}px)` }}
      onClick={(event) => {
        onAt();
        open(event.metaKey || event.ctrlKey);
      }}
      onAuxClick={(event) => event.button === 1 && open(true)}
    >
      {props.onTicked && (
        <span role="gridcell" className={css.tick} onClick={(event) => event.stopPropagation()}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Tick row ${index + 1}`}
            checked={isTicked}
            onClick={(event) => tick(index, event.shiftKey)}
            onChange={() => undefined}
          />
        </span>
      )}
      {isCards ? (
        <span role="gridcell" className={css.whole}>
          {props.card?.(row.original)}
        </span>
      ) : (
        row.getVisibleCells().map((cell) => (
          <span
            key={cell.id}
            role="gridcell"
            className={`${css.cell} ${props.columns.find((one) => one.id === cell.column.id)?.end ? css.end : ""}`}
            style={{ width: cell.column.getSize(), flexGrow: cell.column.getSize() }}
          >
            {flexRender(cell.column.columnDef.cell, cell.getContext())}
          </span>
        ))
      )}
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

/** Once: the greatest first; again: the least first; a third time: as the list comes. */
function turned(order: Order | null, by: string): Order | null {
  if (order === null) return { by, isDown: true };
  return order.isDown ? { by, isDown: false } : null;
}

/** The ticked ones after row `index` was turned; with those from `anchor` on to it, where a range was meant. */
export function ticking(ticked: ReadonlySet<string> | undefined, ids: readonly string[], index: number, anchor: number): Set<string> {
  const next = new Set(ticked);
  const id = ids[index];
  if (id === undefined) return next;
  const isOn = !next.has(id);
  const from = anchor < 0 ? index : Math.min(anchor, index);
  for (const one of ids.slice(from, Math.max(anchor, index) + 1)) {
    if (isOn) next.add(one);
    else next.delete(one);
  }
  return next;
}

interface Walk<Item> {
  rows: readonly Row<Item>[];
  at: number;
  setAt: (at: number) => void;
  virtual: Virtualizer<HTMLDivElement, Element>;
  open?: (item: Item, inNewTab: boolean) => void;
  tick?: (index: number, isRange: boolean) => void;
}

function walk<Item>(event: KeyboardEvent, { rows, at, setAt, virtual, open, tick }: Walk<Item>): void {
  if ((event.target as HTMLElement).matches("button, a, input[type=text]")) return;
  const moves: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + 15,
    PageUp: at - 15,
    Home: 0,
    End: rows.length - 1,
  };
  const move = moves[event.key];
  const row = rows[at];
  if (move !== undefined) {
    const next = Math.max(0, Math.min(rows.length - 1, move));
    setAt(next);
    virtual.scrollToIndex(next);
  } else if (event.key === "Enter" && row && open) open(row.original, event.ctrlKey || event.metaKey);
  else if (event.key === " " && row && tick) tick(at, event.shiftKey);
  else return;
  event.preventDefault();
}
