import { readLogSearch, type LogSearch } from "@/logs/search";
import { readChartSearch, text, type ChartSearch } from "@/training/chartSearch";

/** State of an experiment's page in the URL, besides the tab. */
export interface ExperimentSearch extends ChartSearch, LogSearch {
  filter?: string;
  sort?: string;
  /** Hyperparameters on the axes of the scatter plot. */
  a?: string;
  b?: string;
  /** The open file of the code, and a line number in it. */
  file?: string;
  at?: number;
  /** The experiment that config and code are compared with. */
  against?: string;
}

export function readExperimentSearch(search: Record<string, unknown>): ExperimentSearch {
  return {
    ...readChartSearch(search),
    ...readLogSearch(search),
    filter: text(search.filter),
    sort: text(search.sort),
    a: text(search.a),
    b: text(search.b),
    file: text(search.file),
    at: Number(search.at) >= 1 ? Math.floor(Number(search.at)) : undefined,
    against: text(search.against),
  };
}
