import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { IconName } from "./Icon";
import { Empty, Loading, Trouble } from "./Notes";
import { PlainTable } from "./PlainTable";

export interface QueryTableColumn<Item> {
  header: string;
  cell: (item: Item) => ReactNode;
  /** Aligned right, as numbers are. */
  end?: boolean;
}

interface QueryTableProps<Item> {
  query: Pick<UseQueryResult<unknown>, "error" | "refetch">;
  items: readonly Item[] | undefined;
  idOf: (item: Item) => string;
  columns: readonly QueryTableColumn<Item>[];
  /** Title of the empty state. */
  empty: string;
  /** What the items are for. */
  emptyText?: ReactNode;
  /** A button that creates the first item. */
  emptyAction?: ReactNode;
  icon?: IconName;
  onOpen?: (item: Item) => void;
}

/** A plain table of a query's result, up to a few hundred rows, with loading, empty and error states. A click anywhere in a row opens it; its first cell is a button for the keyboard. */
export function QueryTable<Item>({ query, items, idOf, columns, empty, emptyText, emptyAction, icon = "admin", onOpen }: QueryTableProps<Item>) {
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (items === undefined) return <Loading rows={5} />;
  if (items.length === 0) {
    return (
      <Empty icon={icon} title={empty}>
        {emptyText && <p>{emptyText}</p>}
        {emptyAction && <p>{emptyAction}</p>}
      </Empty>
    );
  }
  return (
    <PlainTable>
      <thead>
        <tr>
          {columns.map(({ header, end }) => (
            <th key={header} scope="col" data-end={end || undefined}>
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={idOf(item)} data-opens={onOpen ? true : undefined} onClick={() => onOpen?.(item)}>
            {columns.map(({ header, cell, end }, at) => (
              <td key={header} data-end={end || undefined} data-wraps={!end || undefined}>
                {onOpen && at === 0 ? <button type="button">{cell(item)}</button> : cell(item)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </PlainTable>
  );
}
