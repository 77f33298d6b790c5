import { LogView } from "@/logs/LogView";
import type { TabProps } from "./tab";

/** Log lines of all trials of the experiment. */
export function LogsTab({ experiment, search, onSearch }: TabProps) {
  return <LogView of={`/v1/experiments/${experiment.number}`} isOfMany search={search} onSearch={(change) => onSearch({ ...search, ...change })} />;
}
