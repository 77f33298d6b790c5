import { joined } from "@/parts/expression";
import { conditionOf, readGrouping, type Grouping } from "./grouping";

/** State of the list in the URL. */
export interface ListSearch {
  filter?: string;
  sort?: string;
  archived?: boolean;
  /** A key of `STATES`. */
  state?: string;
  /** The former name of `state` in links and saved views. It is set to undefined, because the router keeps unknown parameters. */
  group?: undefined;
  /** A key of `GROUPINGS`. */
  grouped?: Grouping;
  /** Values of the open groups; null for experiments without a value. */
  open?: (string | null)[];
  /** Visible columns; undefined for those of this browser. */
  columns?: string[];
}

/** Former names of tabs in links and saved views. */
const FORMER_STATES = new Map([["running", "active"], ["failed", "error"]]);

/** Reads the state from a URL, which may hold anything. */
export function readListSearch(search: Record<string, unknown>): ListSearch {
  return {
    filter: text(search.filter),
    sort: text(search.sort),
    state: readTab(text(search.state) ?? text(search.group)),
    group: undefined,
    grouped: readGrouping(search.grouped),
    open: Array.isArray(search.open) ? search.open.map((value) => (value === null ? null : String(value))) : undefined,
    columns: Array.isArray(search.columns) ? search.columns.map(String) : undefined,
    archived: search.archived === true || search.archived === "true" ? true : undefined,
  };
}

/** Opens or closes one group. */
export function toggled(search: ListSearch, value: string | null): ListSearch {
  const open = search.open ?? [];
  const next = open.includes(value) ? open.filter((one) => one !== value) : [...open, value];
  return { ...search, open: next.length > 0 ? next : undefined };
}

/** Returns the list of one group only. */
export function alone(search: ListSearch, by: Grouping, value: string | null): ListSearch {
  return { ...search, grouped: undefined, open: undefined, filter: joined(search.filter, conditionOf(by, value)) };
}

function readTab(state: string | undefined): string | undefined {
  return state && (FORMER_STATES.get(state) ?? state);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Source of a new experiment: another experiment or a template. */
export interface CreateSearch {
  fork?: string;
  template?: string;
}

export function readCreateSearch(search: Record<string, unknown>): CreateSearch {
  const fork = search.fork === undefined ? undefined : String(search.fork);
  return { fork, template: text(search.template) };
}
