import { readLogSearch, type LogSearch } from "@/logs/search";
import { readChartSearch, text, type ChartSearch } from "@/training/chartSearch";

/** What the address of an experiment's page says beside its tab. */
export interface ExperimentSearch extends ChartSearch, LogSearch {
  filter?: string;
  sort?: string;
  /** Of plots: the hyperparameters on the axes. */
  a?: string;
  b?: string;
  /** Of the code: the file that is open, and the number of a line of it. */
  file?: string;
  at?: number;
  /** The experiment that config and code are held against. */
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
