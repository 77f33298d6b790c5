/** What an address of the cluster's pages keeps. Pure. */
export interface ClusterSearch {
  pool?: string;
  /** The trial of the queue that is explained. */
  trial?: string;
  /** What usage is added up by, and over how many days. */
  by?: string;
  days?: number;
}

export function readClusterSearch(search: Record<string, unknown>): ClusterSearch {
  const text = (name: string) => (typeof search[name] === "string" && search[name] !== "" ? search[name] : undefined);
  const days = Number(search.days);
  return { pool: text("pool"), trial: text("trial"), by: text("by"), days: Number.isInteger(days) && days > 0 && days <= 366 ? days : undefined };
}
