import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { counted } from "@/parts/format";
import { IconButton } from "@/parts/Button";
import { Loading, Trouble } from "@/parts/Notes";
import { Elapsed } from "@/parts/Time";
import css from "./Queue.module.css";
import { StartBand } from "./StartBand";
import { WaysOut } from "./WaysOut";
import { explanationQuery, type Explanation, type QueueEntry } from "./data";
import type { Move } from "./priority";

interface ExplainedProps {
  entry: QueueEntry;
  onClose: () => void;
  onPriority: (move: Move) => void;
}

/** Explains why a trial waits or runs: the reason, the runs that hold the slots, the expected start and changes that would start it. */
export function Explained({ entry, onClose, onPriority }: ExplainedProps) {
  const explanation = useQuery(explanationQuery(entry));
  return (
    <aside className={css.explained} aria-label={`Explanation of trial ${entry.experiment_number}.${entry.trial_number}`}>
      <header>
        <h2>
          <Link to="/trials/$trial" params={{ trial: entry.trial }}>
            Trial {entry.experiment_number}.{entry.trial_number}
          </Link>
        </h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      {explanation.error ? (
        <Trouble error={explanation.error} retry={() => void explanation.refetch()} />
      ) : explanation.data === undefined ? (
        <Loading rows={5} label="loading the explanation" />
      ) : (
        <>
          <p className={css.message} data-state={explanation.data.state}>
            {explanation.data.message}
          </p>
          {explanation.data.state === "waiting" && (
            <>
              <StartBand start={explanation.data.expected_start} />
              <Holders explanation={explanation.data} />
              <WaysOut explanation={explanation.data} entry={entry} onPriority={onPriority} />
            </>
          )}
          {explanation.data.preemption && (
            <section>
              <h3>Last preemption</h3>
              <p>
                Run {explanation.data.preemption.run_number} was asked to return its slots {explanation.data.preemption.message}.
              </p>
            </section>
          )}
        </>
      )}
    </aside>
  );
}

function Holders({ explanation }: { explanation: Explanation }) {
  const { holders = [], own_runs = 0, other_runs = 0, other_slots = 0 } = explanation;
  if (holders.length === 0 && other_runs === 0) return null;
  return (
    <section>
      <h3>Runs that hold the slots</h3>
      <ul className={css.holders}>
        {holders.map((one) => (
          <li key={`${one.experiment_number}.${one.trial_number}`}>
            <Link to="/trials/$trial" params={{ trial: `${one.experiment_number}.${one.trial_number}` }}>
              {one.experiment_number}.{one.trial_number}
            </Link>
            <span>
              {one.slot_fraction ?? counted(one.slots, "slot")}
              {one.leaving && <em>ending</em>}
            </span>
            <span className="muted">
              for <Elapsed from={one.since} to={null} />
            </span>
          </li>
        ))}
        {own_runs > holders.length && <li className="muted">and {own_runs - holders.length} more of yours</li>}
        {other_runs > 0 && (
          <li className="muted">
            {counted(other_runs, "run")} of other tenants, {counted(other_slots, "slot")}
          </li>
        )}
      </ul>
    </section>
  );
}
