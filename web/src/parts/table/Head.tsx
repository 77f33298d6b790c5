import type { Table } from "@tanstack/react-table";
import { Icon } from "../Icon";
import css from "./DataTable.module.css";
import type { DataTableProps, Order } from "./props";

/** The column headings with the sort order. */
export function Head<Item>({ table, props, width }: { table: Table<Item>; props: DataTableProps<Item>; width: number }) {
  const all = props.items.length > 0 && props.items.every((item) => props.ticked?.has(props.idOf(item)));
  return (
    <div role="row" className={css.head} style={{ minWidth: width }}>
      {props.onTicked && (
        <span role="columnheader" className={css.tick}>
          <input
            type="checkbox"
            aria-label="Select all loaded rows"
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
              <button type="button" onClick={() => props.onOrder?.(nextOrder(order, sort))}>
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

/** Returns the order after a click: descending, then ascending, then the default. */
function nextOrder(order: Order | null, by: string): Order | null {
  if (order === null) return { by, isDown: true };
  return order.isDown ? { by, isDown: false } : null;
}
