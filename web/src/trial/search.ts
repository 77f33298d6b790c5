import { readLogSearch, type LogSearch } from "@/logs/search";
import { readChartSearch, text, type ChartSearch } from "@/training/chartSearch";

/** State of a trial's page in the URL, besides the tab. */
export interface TrialSearch extends ChartSearch, LogSearch {
  checkpoint?: string;
  /** The step of the shown media. */
  at?: number;
}

export function readTrialSearch(search: Record<string, unknown>): TrialSearch {
  return { ...readChartSearch(search), ...readLogSearch(search), checkpoint: text(search.checkpoint), at: typeof search.at === "number" ? search.at : undefined };
}
