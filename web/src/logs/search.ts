import { text } from "@/training/chartSearch";

/** What an address says of log lines: which are shown, and which one a link points at. */
export interface LogSearch {
  contains?: string;
  level?: string;
  rank?: string;
  stream?: string;
  /** Lines from this moment on, where a link points at one. */
  since?: string;
  /** The line that a link points at. */
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
