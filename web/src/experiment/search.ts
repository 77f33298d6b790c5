import { readChartSearch, text, type ChartSearch } from "@/training/chartSearch";

/** What the address of an experiment's page says beside its tab. */
export interface ExperimentSearch extends ChartSearch {
  filter?: string;
  sort?: string;
  /** Of plots: the hyperparameters on the axes. */
  a?: string;
  b?: string;
  /** Of the code: the file that is open, and a line of it. */
  file?: string;
  line?: number;
  /** The experiment that config and code are held against. */
  against?: string;
}

export function readExperimentSearch(search: Record<string, unknown>): ExperimentSearch {
  return {
    ...readChartSearch(search),
    filter: text(search.filter),
    sort: text(search.sort),
    a: text(search.a),
    b: text(search.b),
    file: text(search.file),
    line: Number(search.line) >= 1 ? Math.floor(Number(search.line)) : undefined,
    against: text(search.against),
  };
}
