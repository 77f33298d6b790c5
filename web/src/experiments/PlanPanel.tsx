import { asProblem, type Problem } from "@/api/problem";
import type { Plan, PlanRange } from "@/api/types";
import { formatDuration, formatMoney, formatNumber } from "@/parts/format";
import { Icon } from "@/parts/Icon";
import { Complaint } from "@/parts/Notes";
import css from "./Create.module.css";
import { isOfCode, isOnlyUnknown, type Assumptions } from "./creating";

interface PlanPanelProps {
  plan: Plan | undefined;
  error: unknown;
  isBusy: boolean;
  assumed: Assumptions;
  onAssumptions: (assumed: Assumptions) => void;
}

/** Estimated duration, cost and trials of the search from several simulations, before it is submitted. */
export function PlanPanel({ plan, error, isBusy, assumed, onAssumptions }: PlanPanelProps) {
  const problem = error ? asProblem(error) : null;
  const isUnknown = problem !== null && isOnlyUnknown(problem);
  return (
    <section className={css.card} aria-label="Plan" aria-busy={isBusy}>
      <header className={css.cardHead}>
        <h2>Plan</h2>
        <Verdict problem={problem} isUnknown={isUnknown} isBusy={isBusy} />
      </header>
      {problem !== null && !isUnknown && !isOfCode(problem) && <Complaint error={problem} />}
      {problem !== null && isOfCode(problem) && <p className={css.note}>Add the script of the entrypoint to the code to see the plan.</p>}
      {isUnknown && <p className={css.note}>{problem?.message}. Enter assumptions below, or create the experiment: its first trials provide the missing data.</p>}
      {plan && problem === null && <Figures plan={plan} />}
      <div className={css.assumptions}>
        <Assumption label="Steps of a trial" value={assumed.steps} onValue={(steps) => onAssumptions({ ...assumed, steps })} />
        <Assumption label="Seconds for a step" value={assumed.stepS} onValue={(stepS) => onAssumptions({ ...assumed, stepS })} />
      </div>
      {plan && problem === null && <Notes plan={plan} />}
    </section>
  );
}

function Verdict({ problem, isUnknown, isBusy }: { problem: Problem | null; isUnknown: boolean; isBusy: boolean }) {
  if (isBusy) return <span className={css.checking}>checking …</span>;
  if (problem && isOfCode(problem)) return <span className={css.lacking}>code is missing</span>;
  if (problem && !isUnknown) return <span className={css.bad}>invalid</span>;
  return (
    <span className={css.good}>
      <Icon name="check" size={14} /> valid
    </span>
  );
}

function Figures({ plan }: { plan: Plan }) {
  const finish = plan.took_s ? new Date(Date.now() + plan.took_s.middle * 1000) : null;
  return (
    <>
      <dl className={css.figures}>
        <Range label="Duration" range={plan.took_s} format={formatDuration} note={finish ? `until ${formatFinish(finish)}` : undefined} />
        <Range label="Slot-hours" range={plan.slot_hours} format={(value) => formatNumber(value, 3)} />
        <Range label="Cost" range={plan.cost} format={formatMoney} />
        <Range label="Trials" range={plan.trials} format={(value) => formatNumber(Math.round(value))} note={plan.stopped.middle > 0 ? `${Math.round(plan.stopped.middle)} stopped early` : undefined} />
      </dl>
      {plan.rungs.length > 0 && (
        <div className={css.rungs}>
          <h3>Trials per rung</h3>
          {plan.rungs.map((rung) => (
            <div key={rung.at} className={css.rung}>
              <span className="number muted">
                {formatNumber(rung.at)} {plan.unit}
              </span>
              <span className={css.rungTrack}>
                <span style={{ width: `${(100 * rung.trials.middle) / Math.max(1, plan.trials.middle)}%` }} />
              </span>
              <span className="number">{Math.round(rung.trials.middle)}</span>
            </div>
          ))}
        </div>
      )}
    </>
  );
}

interface RangeProps {
  label: string;
  range: PlanRange | null | undefined;
  format: (value: number) => string;
  note?: string;
}

function Range({ label, range, format, note }: RangeProps) {
  if (!range) return null;
  const isOne = format(range.low) === format(range.high);
  return (
    <div>
      <dt>{label}</dt>
      <dd className="number">{format(range.middle)}</dd>
      <dd className={css.between}>{note ?? (isOne ? "in all simulations" : `${format(range.low)} to ${format(range.high)}`)}</dd>
    </div>
  );
}

function Assumption({ label, value, onValue }: { label: string; value: number | null; onValue: (value: number | null) => void }) {
  return (
    <label>
      {label}
      <input
        type="number"
        min={0}
        step="any"
        inputMode="decimal"
        placeholder="from earlier runs"
        value={value ?? ""}
        onChange={(event) => onValue(Number(event.target.value) > 0 ? Number(event.target.value) : null)}
      />
    </label>
  );
}

function Notes({ plan }: { plan: Plan }) {
  const basis = plan.basis === "earlier_trials" ? `Estimated from ${plan.earlier_runs} earlier runs of this code` : "Estimated from a general model of learning curves";
  return (
    <ul className={css.notes}>
      <li>
        {basis}, on {plan.on}.
      </li>
      {plan.notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
      {plan.warnings.map((warning) => (
        <li key={warning} className={css.warning}>
          {warning}
        </li>
      ))}
    </ul>
  );
}

function formatFinish(then: Date): string {
  const isToday = then.toDateString() === new Date().toDateString();
  return then.toLocaleString("en-GB", isToday ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}
