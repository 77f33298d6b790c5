import { readChartSearch, text, type ChartSearch } from "@/training/chartSearch";

/** What the address of a trial's page says beside its tab. */
export interface TrialSearch extends ChartSearch {
  contains?: string;
  level?: string;
  rank?: string;
  stream?: string;
  /** Lines from this moment on, where a link points at one. */
  since?: string;
  /** The line that a link points at. */
  line?: string;
  checkpoint?: string;
}

export function readTrialSearch(search: Record<string, unknown>): TrialSearch {
  const rank = text(search.rank);
  return {
    ...readChartSearch(search),
    contains: text(search.contains),
    level: text(search.level),
    rank: rank !== undefined && /^\d+$/.test(rank) ? rank : undefined,
    stream: text(search.stream),
    since: text(search.since),
    line: text(search.line),
    checkpoint: text(search.checkpoint),
  };
}
