import type { Trial } from "@/api/types";
import type { TrialSearch } from "./search";

/** What each tab of a trial's page is given. */
export interface TrialTabProps {
  trial: Trial;
  search: TrialSearch;
  onSearch: (next: TrialSearch) => void;
}
