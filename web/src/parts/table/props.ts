/** Props of a table. */
import type { ReactNode } from "react";
import type { Group } from "./lines";

export interface Column<Item> {
  id: string;
  header: string;
  cell: (item: Item) => ReactNode;
  width?: number;
  /** Aligned right, as numbers are. */
  end?: boolean;
  /** Field to sort by; undefined if the column cannot be sorted. */
  sort?: string;
}

export interface Order {
  by: string;
  isDown: boolean;
}

export interface DataTableProps<Item> {
  label: string;
  /** All rows; with groups, the rows of the open ones in order. */
  items: readonly Item[];
  columns: readonly Column<Item>[];
  idOf: (item: Item) => string;
  groups?: readonly Group<Item>[];
  onToggle?: (group: string) => void;
  /** Total number of rows if known, for screen readers. */
  total?: number;
  order?: Order | null;
  onOrder?: (order: Order | null) => void;
  onOpen?: (item: Item, inNewTab: boolean) => void;
  ticked?: ReadonlySet<string>;
  onTicked?: (ticked: Set<string>) => void;
  /** Called when the end becomes visible. */
  onEnd?: () => void;
  card?: (item: Item) => ReactNode;
  empty?: ReactNode;
}
