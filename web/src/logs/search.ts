import { text } from "@/training/chartSearch";

/** State of the log view in the URL: the filter and the marked line. */
export interface LogSearch {
  contains?: string;
  level?: string;
  rank?: string;
  stream?: string;
  /** Start time, for links to a line. */
  since?: string;
  /** The marked line. */
  line?: string;
}

export function readLogSearch(search: Record<string, unknown>): LogSearch {
  const rank = text(search.rank);
  return {
    contains: text(search.contains),
    level: text(search.level),
    rank: rank !== undefined && /^\d+$/.test(rank) ? rank : undefined,
    stream: text(search.stream),
    since: text(search.since),
    line: text(search.line),
  };
}
