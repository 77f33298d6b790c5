import { LogView } from "@/logs/LogView";
import type { TabProps } from "./tab";

/** The last lines of each trial, and what all of them write. */
export function LogsTab({ experiment, search, onSearch }: TabProps) {
  return <LogView of={`/v1/experiments/${experiment.number}`} isOfMany search={search} onSearch={(change) => onSearch({ ...search, ...change })} />;
}
