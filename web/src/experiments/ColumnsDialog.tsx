import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Experiment } from "@/api/types";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field } from "@/parts/Field";
import { Loading } from "@/parts/Notes";
import { Ticks } from "@/parts/Ticks";
import { columnsOf, KINDS, USUAL } from "./columns";
import css from "./Experiments.module.css";
import { namesQuery } from "./query";
import type { ListSearch } from "./search";

interface ColumnsDialogProps {
  search: ListSearch;
  items: readonly Experiment[];
  shown: readonly string[];
  onShown: (shown: string[]) => void;
  onClose: () => void;
}

/** Which columns the list has: its own, and those of the metrics, hyperparameters and labels that its experiments have. They change as they are ticked. */
export function ColumnsDialog({ search, items, shown, onShown, onClose }: ColumnsDialogProps) {
  const [text, setText] = useState("");
  const asked = useQuery(namesQuery(search));
  const columns = useMemo(() => columnsOf([...items, ...(asked.data?.items ?? [])], shown), [items, asked.data, shown]);
  const wanted = columns.filter((column) => column.header.toLowerCase().includes(text.trim().toLowerCase()));
  const turn = (id: string) => onShown(shown.includes(id) ? shown.filter((one) => one !== id) : [...shown, id]);
  const held = new Set(shown);
  return (
    <Dialog
      title="Columns"
      wide
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={() => onShown([...USUAL])}>
            As usual
          </Button>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <div className={css.choosing}>
        <Field label="Find a column" data-first value={text} onChange={(event) => setText(event.target.value)} />
        {KINDS.map(({ legend, holds }) => {
          const options = wanted.filter((column) => holds(column.id)).map(({ id, header }) => ({ id, label: header === "#" ? "Number" : header }));
          return options.length > 0 && <Ticks key={legend} legend={legend} options={options} held={held} onTurn={turn} />;
        })}
        {asked.isPending && <Loading rows={2} />}
        {wanted.length === 0 && <p className="muted">No column is called so.</p>}
      </div>
    </Dialog>
  );
}
