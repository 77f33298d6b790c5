import type { Resource } from "@/api/types";
import { counted, formatNumber } from "@/parts/format";
import { State } from "@/parts/State";
import css from "./Experiments.module.css";
import { nameOf, type Grouping } from "./grouping";

/** In the order in which people ask: what goes on, what needs somebody, what is over. */
const ORDER = ["active", "submitted", "stopping", "paused", "error", "rejected", "completed", "cancelled"];

/** What a group has in common, how many it has, and how they stand. */
export function GroupHead({ by, group }: { by: Grouping; group: Resource<"ExperimentGroup"> }) {
  const name = nameOf(by, group.value);
  return (
    <span className={css.group}>
      {by === "state" ? <State state={name} /> : <b className={group.value === null ? "muted" : undefined}>{name}</b>}
      <span className="muted">{counted(group.count, "experiment")}</span>
      {by !== "state" &&
        ORDER.filter((state) => group.states[state]).map((state) => (
          <span key={state} className={css.standing}>
            <span className="number">{formatNumber(group.states[state])}</span> <State state={state} quiet />
          </span>
        ))}
    </span>
  );
}
