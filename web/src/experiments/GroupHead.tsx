import type { Resource } from "@/api/types";
import { counted, formatNumber } from "@/parts/format";
import { State } from "@/parts/State";
import css from "./Experiments.module.css";
import { nameOf, type Grouping } from "./grouping";

/** States in order of interest: active, then those that need attention, then final. */
const ORDER = ["active", "submitted", "stopping", "paused", "error", "rejected", "completed", "cancelled"];

/** Heading of a group: its value, the number of experiments and their states. */
export function GroupHead({ by, group }: { by: Grouping; group: Resource<"ExperimentGroup"> }) {
  const name = nameOf(by, group.value);
  return (
    <span className={css.group}>
      {by === "state" ? <State state={name} /> : <b className={group.value === null ? "muted" : undefined}>{name}</b>}
      <span className="muted">{counted(group.count, "experiment")}</span>
      {by !== "state" &&
        ORDER.filter((state) => group.states[state]).map((state) => (
          <span key={state} className={css.state}>
            <span className="number">{formatNumber(group.states[state])}</span> <State state={state} quiet />
          </span>
        ))}
    </span>
  );
}
