import { LogView } from "@/logs/LogView";
import type { TrialTabProps } from "./tab";

/** What the trial's ranks wrote, as they write it. */
export function LogsTab({ trial, search, onSearch }: TrialTabProps) {
  return <LogView of={`/v1/trials/${trial.id}`} search={search} onSearch={(change) => onSearch({ ...search, ...change })} />;
}
