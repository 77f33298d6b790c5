import css from "./Models.module.css";
import type { Stage } from "./data";

/** The stage of a version and a requested one. */
export function StageBadge({ stage = "none", pending }: { stage?: Stage; pending?: Stage }) {
  return (
    <span className={css.stages}>
      <span className={css.stage} data-stage={stage}>{stage === "none" ? "no stage" : stage}</span>
      {pending && <span className={css.pending}>→ {pending} waits</span>}
    </span>
  );
}
