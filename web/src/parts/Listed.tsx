import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { IconName } from "./Icon";
import { Empty, Loading, Trouble } from "./Notes";
import { PlainTable } from "./PlainTable";

export interface ListedColumn<Item> {
  header: string;
  cell: (item: Item) => ReactNode;
  /** Numbers stand at the right. */
  end?: boolean;
}

interface ListedProps<Item> {
  asked: Pick<UseQueryResult<unknown>, "error" | "refetch">;
  items: readonly Item[] | undefined;
  idOf: (item: Item) => string;
  columns: readonly ListedColumn<Item>[];
  empty: string;
  icon?: IconName;
  onOpen?: (item: Item) => void;
}

/** A plain table of a few hundred things that were asked for, with what stands there while they load, are none or fail. One that opens is pressed anywhere, and by key at its first cell. */
export function Listed<Item>({ asked, items, idOf, columns, empty, icon = "admin", onOpen }: ListedProps<Item>) {
  if (asked.error) return <Trouble error={asked.error} retry={() => void asked.refetch()} />;
  if (items === undefined) return <Loading rows={5} />;
  if (items.length === 0) return <Empty icon={icon} title={empty} />;
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
