import { joined } from "@/parts/expression";
import { conditionOf, readGrouping, type Grouping } from "./grouping";

/** What the address of the list says: every state of it has a link. */
export interface ListSearch {
  filter?: string;
  sort?: string;
  archived?: boolean;
  /** One of `STATES`: states that people look at together. */
  state?: string;
  /** Links and saved views of before say this for `state`. It goes as it is read: the router keeps what nobody reads. */
  group?: undefined;
  /** One of `GROUPINGS`: what the experiments are gathered by. */
  grouped?: Grouping;
  /** The values whose experiments are shown then; null: of those that have none. */
  open?: (string | null)[];
  /** The columns that are shown; none: those of this browser. */
  columns?: string[];
}

/** Reads it from an address that anybody may have typed. */
export function readListSearch(search: Record<string, unknown>): ListSearch {
  return {
    filter: text(search.filter),
    sort: text(search.sort),
    state: text(search.state) ?? text(search.group),
    group: undefined,
    grouped: readGrouping(search.grouped),
    open: Array.isArray(search.open) ? search.open.map((value) => (value === null ? null : String(value))) : undefined,
    columns: Array.isArray(search.columns) ? search.columns.map(String) : undefined,
    archived: search.archived === true || search.archived === "true" ? true : undefined,
  };
}

/** The address with one group opened, or closed where it is open. */
export function turned(search: ListSearch, value: string | null): ListSearch {
  const open = search.open ?? [];
  const next = open.includes(value) ? open.filter((one) => one !== value) : [...open, value];
  return { ...search, open: next.length > 0 ? next : undefined };
}

/** The list of one group alone. */
export function alone(search: ListSearch, by: Grouping, value: string | null): ListSearch {
  return { ...search, grouped: undefined, open: undefined, filter: joined(search.filter, conditionOf(by, value)) };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Where a new experiment begins: at another one's config, or at a template's. */
export interface CreateSearch {
  fork?: string;
  template?: string;
}

export function readCreateSearch(search: Record<string, unknown>): CreateSearch {
  const fork = search.fork === undefined ? undefined : String(search.fork);
  return { fork, template: text(search.template) };
}
