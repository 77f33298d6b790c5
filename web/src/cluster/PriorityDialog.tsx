import { useState } from "react";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field } from "@/parts/Field";
import { counted } from "@/parts/format";
import { Complaint } from "@/parts/Notes";
import { toast } from "@/parts/Toast";
import css from "./Queue.module.css";
import type { QueueEntry } from "./data";
import { FIRST, LAST, passes, type Move } from "./priority";
import { useChangePolicy } from "./useChangePolicy";

interface PriorityDialogProps {
  move: Move;
  entries: readonly QueueEntry[];
  onClose: () => void;
}

/** Changes the priority of an experiment and shows the effect first. */
export function PriorityDialog({ move, entries, onClose }: PriorityDialogProps) {
  const [text, setText] = useState(String(move.to));
  const to = Number(text);
  const isWhole = text.trim() !== "" && Number.isInteger(to) && to >= FIRST && to <= LAST;
  const change = useChangePolicy(move.experiment, () => {
    toast(`Experiment ${move.experiment} has priority ${to}`);
    onClose();
  });
  const set = () => change.mutate({ priority: to });
  return (
    <Dialog
      title={`Experiment ${move.experiment}: priority`}
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Keep {move.from}
          </Button>
          <Button kind="primary" busy={change.isPending} disabled={!isWhole || to === move.from} onClick={set}>
            {isWhole ? `Set priority ${to}` : "Set priority"}
          </Button>
        </>
      }
    >
      <Field
        label={`Priority, now ${move.from}`}
        hint={`${FIRST} is scheduled first, ${LAST} last. Experiments with the same priority are ordered by submission.`}
        inputMode="numeric"
        value={text}
        data-first
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && isWhole && to !== move.from && set()}
      />
      {isWhole && <Effect move={{ ...move, to }} entries={entries} />}
      {change.error && <Complaint error={change.error} />}
    </Dialog>
  );
}

function Effect({ move, entries }: { move: Move; entries: readonly QueueEntry[] }) {
  if (move.to === move.from) return <p className={css.effect}>The priority does not change.</p>;
  const own = entries.filter((entry) => entry.experiment_number === move.experiment).length;
  const passed = passes(entries, move);
  const others = passed === 0 ? "" : move.to < move.from ? ` ${counted(passed, "trial")} of your other experiments move behind it.` : ` ${counted(passed, "trial")} of your other experiments move ahead of it.`;
  return (
    <p className={css.effect}>
      The priority applies to the whole experiment: {counted(own, "waiting trial")} of it {own === 1 ? "moves" : "move"}.{others} Trials with the same priority are ordered by submission. Trials of other tenants are in the same order.
    </p>
  );
}
