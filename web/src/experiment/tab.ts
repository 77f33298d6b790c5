import type { ExperimentDetail } from "@/api/types";
import type { ExperimentSearch } from "./search";

/** Props of each tab of an experiment's page. */
export interface TabProps {
  experiment: ExperimentDetail;
  search: ExperimentSearch;
  onSearch: (next: ExperimentSearch) => void;
}
