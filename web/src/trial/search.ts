import { readLogSearch, type LogSearch } from "@/logs/search";
import { readChartSearch, text, type ChartSearch } from "@/training/chartSearch";

/** What the address of a trial's page says beside its tab. */
export interface TrialSearch extends ChartSearch, LogSearch {
  checkpoint?: string;
  /** The step at which media are shown. */
  at?: number;
}

export function readTrialSearch(search: Record<string, unknown>): TrialSearch {
  return { ...readChartSearch(search), ...readLogSearch(search), checkpoint: text(search.checkpoint), at: typeof search.at === "number" ? search.at : undefined };
}
