import type { Trial } from "@/api/types";
import type { TrialSearch } from "./search";

/** Props of each tab of a trial's page. */
export interface TrialTabProps {
  trial: Trial;
  search: TrialSearch;
  onSearch: (next: TrialSearch) => void;
}
