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
import { usePart } from "./usePart";

interface PriorityDialogProps {
  move: Move;
  entries: readonly QueueEntry[];
  onClose: () => void;
}

/** Says what a change of priority does before it is made. */
export function PriorityDialog({ move, entries, onClose }: PriorityDialogProps) {
  const [text, setText] = useState(String(move.to));
  const to = Number(text);
  const isWhole = text.trim() !== "" && Number.isInteger(to) && to >= FIRST && to <= LAST;
  const change = usePart(move.experiment, () => {
    toast(`experiment ${move.experiment} has priority ${to}`);
    onClose();
  });
  const set = () => change.mutate({ priority: to });
  return (
    <Dialog
      title={`Experiment ${move.experiment}: who goes first`}
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Leave it at {move.from}
          </Button>
          <Button kind="primary" busy={change.isPending} disabled={!isWhole || to === move.from} onClick={set}>
            {isWhole ? `Set priority ${to}` : "Set priority"}
          </Button>
        </>
      }
    >
      <Field
        label={`Priority, now ${move.from}`}
        hint={`${FIRST} goes first, ${LAST} last; among equals the one that was submitted first.`}
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
  if (move.to === move.from) return <p className={css.effect}>Nothing changes.</p>;
  const own = entries.filter((entry) => entry.experiment_number === move.experiment).length;
  const passed = passes(entries, move);
  const others = passed === 0 ? "" : move.to < move.from ? `; ${counted(passed, "trial")} of your other experiments will stand behind` : `; ${counted(passed, "trial")} of your other experiments will stand in front`;
  return (
    <p className={css.effect}>
      All of it moves, not one trial: {own} of its trials {own === 1 ? "waits" : "wait"} here{others}. Those of one priority go by submission, and other tenants' work counts too.
    </p>
  );
}
