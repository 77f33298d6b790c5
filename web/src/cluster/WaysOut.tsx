import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { toast, toastProblem } from "@/parts/Toast";
import { useMay } from "@/session/session";
import css from "./Queue.module.css";
import type { Explanation, QueueEntry } from "./data";
import type { Move } from "./priority";
import { useChangePolicy } from "./useChangePolicy";

type StartSuggestion = NonNullable<Explanation["suggestions"]>[number];

interface WaysOutProps {
  explanation: Explanation;
  entry: QueueEntry;
  onPriority: (move: Move) => void;
}

/** What-if results of the scheduler: single changes that would start the trial, each with its command and, where possible, a button. */
export function WaysOut({ explanation, entry, onPriority }: WaysOutProps) {
  const ways = explanation.suggestions ?? [];
  return (
    <section>
      <h3>Changes that would start it</h3>
      {ways.length === 0 ? (
        <p className="muted">No single change to its priority, pool or slots would start it now. It starts when running trials end, or when you add a worker.</p>
      ) : (
        <ul className={css.ways}>
          {ways.map((way) => (
            <Way key={way.command} way={way} entry={entry} onPriority={onPriority} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Way({ way, entry, onPriority }: { way: StartSuggestion; entry: QueueEntry; onPriority: (move: Move) => void }) {
  const mayWrite = useMay()("experiment.write");
  const change = useChangePolicy(entry.experiment_number, () => toast(`Experiment ${entry.experiment_number} changed`));
  const { code, number, pool } = way;
  return (
    <li>
      <p>
        {sentence(way.message)}
        <span className={css.when} data-now={way.starts === "now" || undefined}>
          {way.starts}
        </span>
      </p>
      <div className={css.command}>
        <code>{way.command}</code>
        <Copy text={way.command} label="Copy the command" />
      </div>
      {mayWrite && code === "priority" && number != null && (
        <Button small onClick={() => onPriority({ experiment: entry.experiment_number, from: entry.priority, to: number })}>
          Change priority…
        </Button>
      )}
      {mayWrite && code === "pool" && pool && (
        <Button small busy={change.isPending} onClick={() => change.mutate({ pool }, { onError: toastProblem })}>
          Move the experiment to {pool}
        </Button>
      )}
      {mayWrite && code === "max_slots" && number != null && (
        <Button small busy={change.isPending} onClick={() => change.mutate({ max_slots: number }, { onError: toastProblem })}>
          Raise the experiment's limit to {number} slots
        </Button>
      )}
    </li>
  );
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
