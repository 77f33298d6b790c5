import { LogView } from "@/logs/LogView";
import type { TrialTabProps } from "./tab";

/** Live log lines of the trial's ranks. */
export function LogsTab({ trial, search, onSearch }: TrialTabProps) {
  return <LogView of={`/v1/trials/${trial.id}`} search={search} onSearch={(change) => onSearch({ ...search, ...change })} />;
}
