import type { Measure } from "./usage";

/** State of the cluster pages in the URL. Pure. */
export interface ClusterSearch {
  pool?: string;
  /** The trial whose wait is explained. */
  trial?: string;
  /** Key to group usage and cost by, number of days, and measure of the bars. */
  by?: string;
  days?: number;
  measure?: Measure;
  /** The machine whose dialog is open. */
  opened?: string;
  /** Also lists terminated machines. */
  ended?: boolean;
}

export function readClusterSearch(search: Record<string, unknown>): ClusterSearch {
  const text = (name: string) => (typeof search[name] === "string" && search[name] !== "" ? search[name] : undefined);
  const days = Number(search.days);
  return {
    pool: text("pool"),
    trial: text("trial"),
    opened: text("opened"),
    by: text("by"),
    days: Number.isInteger(days) && days > 0 && days <= 366 ? days : undefined,
    ended: search.ended === true || undefined,
    measure: search.measure === "cost" ? "cost" : undefined,
  };
}
