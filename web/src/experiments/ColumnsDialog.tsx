import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Experiment } from "@/api/types";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field } from "@/parts/Field";
import { Loading } from "@/parts/Notes";
import { Checkboxes } from "@/parts/Checkboxes";
import { columnsOf, KINDS, DEFAULT_COLUMNS } from "./columns";
import css from "./Experiments.module.css";
import { namesQuery } from "./query";
import type { ListSearch } from "./search";

interface ColumnsDialogProps {
  search: ListSearch;
  items: readonly Experiment[];
  columnIds: readonly string[];
  onColumnIds: (columnIds: string[]) => void;
  onClose: () => void;
}

/** Chooses the columns of the list, including metrics, hyperparameters and labels. Changes apply at once. */
export function ColumnsDialog({ search, items, columnIds, onColumnIds, onClose }: ColumnsDialogProps) {
  const [text, setText] = useState("");
  const sample = useQuery(namesQuery(search));
  const columns = useMemo(() => columnsOf([...items, ...(sample.data?.items ?? [])], columnIds), [items, sample.data, columnIds]);
  const matching = columns.filter((column) => column.header.toLowerCase().includes(text.trim().toLowerCase()));
  const toggle = (id: string) => onColumnIds(columnIds.includes(id) ? columnIds.filter((one) => one !== id) : [...columnIds, id]);
  const selected = new Set(columnIds);
  return (
    <Dialog
      title="Columns"
      wide
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={() => onColumnIds([...DEFAULT_COLUMNS])}>
            Reset
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
          const options = matching.filter((column) => holds(column.id)).map(({ id, header }) => ({ id, label: header === "#" ? "Number" : header }));
          return options.length > 0 && <Checkboxes key={legend} legend={legend} options={options} selected={selected} onToggle={toggle} />;
        })}
        {sample.isPending && <Loading rows={2} />}
        {matching.length === 0 && <p className="muted">No columns match.</p>}
      </div>
    </Dialog>
  );
}
