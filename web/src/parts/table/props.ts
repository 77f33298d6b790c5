/** What a table is given. */
import type { ReactNode } from "react";
import type { Group } from "./lines";

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
  /** All rows; where there are groups, those of the open ones in their order. */
  items: readonly Item[];
  columns: readonly Column<Item>[];
  idOf: (item: Item) => string;
  groups?: readonly Group<Item>[];
  onTurn?: (group: string) => void;
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
