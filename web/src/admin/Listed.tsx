import { type UseQueryResult } from "@tanstack/react-query";
import { type ReactNode } from "react";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { Card } from "@/parts/Page";
import css from "./Admin.module.css";

export interface ListedColumn<Item> {
  header: string;
  cell: (item: Item) => ReactNode;
  end?: boolean;
}

interface ListedProps<Item> {
  asked: Pick<UseQueryResult<unknown>, "error" | "isPending" | "refetch">;
  items: readonly Item[] | undefined;
  idOf: (item: Item) => string;
  columns: readonly ListedColumn<Item>[];
  empty: string;
  onOpen?: (item: Item) => void;
}

/** A plain table of a few hundred rows, with what stands there while it loads, is empty or fails. */
export function Listed<Item>({ asked, items, idOf, columns, empty, onOpen }: ListedProps<Item>) {
  if (asked.error) return <Trouble error={asked.error} retry={() => void asked.refetch()} />;
  if (items === undefined) return <Loading rows={5} />;
  if (items.length === 0) return <Empty icon="admin" title={empty} />;
  return (
    <Card className={css.framed}>
      <table className={css.table}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.header} className={column.end ? css.end : undefined}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={idOf(item)} data-opens={onOpen ? true : undefined} onClick={() => onOpen?.(item)}>
              {columns.map((column) => (
                <td key={column.header} className={column.end ? `${css.end} number` : undefined}>
                  {column.cell(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
