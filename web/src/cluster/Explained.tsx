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

/** Why one trial waits, or that it runs by now: what binds it, who has what it waits for, when it will start, and what would let it start. */
export function Explained({ entry, onClose, onPriority }: ExplainedProps) {
  const told = useQuery(explanationQuery(entry));
  return (
    <aside className={css.explained} aria-label={`Why trial ${entry.experiment_number}.${entry.trial_number} waits, or where it runs`}>
      <header>
        <h2>
          <Link to="/trials/$trial" params={{ trial: entry.trial }}>
            Trial {entry.experiment_number}.{entry.trial_number}
          </Link>
        </h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      {told.error ? (
        <Trouble error={told.error} retry={() => void told.refetch()} />
      ) : told.data === undefined ? (
        <Loading rows={5} label="asking the scheduler" />
      ) : (
        <>
          <p className={css.message} data-state={told.data.state}>
            {told.data.message}
          </p>
          {told.data.state === "waiting" && (
            <>
              <StartBand start={told.data.expected_start} />
              <Holders told={told.data} />
              <WaysOut told={told.data} entry={entry} onPriority={onPriority} />
            </>
          )}
          {told.data.given_back && (
            <section>
              <h3>Why it gave its slots back</h3>
              <p>
                Run {told.data.given_back.run_number} was asked for them {told.data.given_back.message}.
              </p>
            </section>
          )}
        </>
      )}
    </aside>
  );
}

function Holders({ told }: { told: Explanation }) {
  const { holders = [], own_runs = 0, other_runs = 0, other_slots = 0 } = told;
  if (holders.length === 0 && other_runs === 0) return null;
  return (
    <section>
      <h3>Who has what it waits for</h3>
      <ul className={css.holders}>
        {holders.map((one) => (
          <li key={`${one.experiment_number}.${one.trial_number}`}>
            <Link to="/trials/$trial" params={{ trial: `${one.experiment_number}.${one.trial_number}` }}>
              {one.experiment_number}.{one.trial_number}
            </Link>
            <span>
              {one.slot_part ?? counted(one.slots, "slot")}
              {one.leaving && <em>leaving</em>}
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
