import type { Measure } from "./usage";

/** What an address of the cluster's pages keeps. Pure. */
export interface ClusterSearch {
  pool?: string;
  /** The trial of the queue that is explained. */
  trial?: string;
  /** What usage and cost are added up by, over how many days, and what the bars are of. */
  by?: string;
  days?: number;
  measure?: Measure;
  /** The machine that is looked at closely. */
  opened?: string;
  /** Machines that went are listed too. */
  gone?: boolean;
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
    gone: search.gone === true || undefined,
    measure: search.measure === "cost" ? "cost" : undefined,
  };
}
