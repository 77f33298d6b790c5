import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { toast, toastProblem } from "@/parts/Toast";
import { useMay } from "@/session/session";
import css from "./Queue.module.css";
import type { Explanation, QueueEntry } from "./data";
import type { Move } from "./priority";
import { usePart } from "./usePart";

type WayOut = NonNullable<Explanation["ways_out"]>[number];

interface WaysOutProps {
  told: Explanation;
  entry: QueueEntry;
  onPriority: (move: Move) => void;
}

/** The scheduler's counterfactuals: with one thing changed it would start. What can be changed in place has a button, all have their command. */
export function WaysOut({ told, entry, onPriority }: WaysOutProps) {
  const ways = told.ways_out ?? [];
  return (
    <section>
      <h3>What would let it start</h3>
      {ways.length === 0 ? (
        <p className="muted">No single change that was tried would: it has to wait.</p>
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

function Way({ way, entry, onPriority }: { way: WayOut; entry: QueueEntry; onPriority: (move: Move) => void }) {
  const mayWrite = useMay()("experiment.write");
  const change = usePart(entry.experiment_number, () => toast(`experiment ${entry.experiment_number} was changed`));
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
          Change its priority…
        </Button>
      )}
      {mayWrite && code === "pool" && pool && (
        <Button small busy={change.isPending} onClick={() => change.mutate({ pool }, { onError: toastProblem })}>
          Move its experiment to {pool}
        </Button>
      )}
      {mayWrite && code === "max_slots" && number != null && (
        <Button small busy={change.isPending} onClick={() => change.mutate({ max_slots: number }, { onError: toastProblem })}>
          Let its experiment hold {number} slots
        </Button>
      )}
    </li>
  );
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
