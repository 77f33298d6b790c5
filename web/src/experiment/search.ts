import { readChartSearch, text, type ChartSearch } from "@/training/chartSearch";

/** What the address of an experiment's page says beside its tab. */
export interface ExperimentSearch extends ChartSearch {
  filter?: string;
  sort?: string;
  /** Of plots: the hyperparameters on the axes. */
  a?: string;
  b?: string;
  file?: string;
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
    against: text(search.against),
  };
}
