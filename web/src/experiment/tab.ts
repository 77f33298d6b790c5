import type { ExperimentDetail } from "@/api/types";
import type { ExperimentSearch } from "./search";

/** What each tab of an experiment's page is given. */
export interface TabProps {
  experiment: ExperimentDetail;
  search: ExperimentSearch;
  onSearch: (next: ExperimentSearch) => void;
}
