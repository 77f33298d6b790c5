import { useId, useState, type KeyboardEvent } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Experiment } from "@/api/types";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { counted } from "@/parts/format";
import css from "./Label.module.css";
import { countLabels, labelsTo, nextEdit, type LabelEdit } from "./labels";

interface LabelsDialogProps {
  /** The selected experiments, the only ones that change. */
  experiments: readonly Experiment[];
  /** Labels of other experiments, offered as suggestions. */
  known?: readonly string[];
  onClose: () => void;
}

/** Edits the labels of the selected experiments: common, partial and new ones. */
export function LabelsDialog({ experiments, known = [], onClose }: LabelsDialogProps) {
  const [edits, setEdits] = useState<ReadonlyMap<string, LabelEdit>>(new Map());
  const [name, setName] = useState("");
  const offered = useId();
  const edit = (label: string, next: LabelEdit) => setEdits(new Map(edits).set(label, next));
  const [add, remove] = [labelsTo(edits, "add"), labelsTo(edits, "remove")];
  const labels = countLabels(experiments, edits.keys());
  const take = () => {
    if (name.trim() === "") return;
    edit(name.trim(), "add");
    setName("");
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || name.trim() === "") return;
    event.preventDefault();
    take();
  };
  return (
    <ActDialog
      title={experiments.length === 1 ? `Labels of ${experiments[0]?.name ?? ""}` : `Labels of ${counted(experiments.length, "experiment")}`}
      verb="Save"
      isReady={add.length + remove.length > 0}
      act={() => ask(api.POST("/v1/bulk/experiments/labels", { body: { experiments: experiments.map((one) => String(one.number)), add, remove } }))}
      stale={keys.experimentLists}
      done={`Labels of ${counted(experiments.length, "experiment")} changed`}
      onClose={onClose}
    >
      {labels.length === 0 && <p className="muted">{experiments.length === 1 ? "This experiment has no labels yet. Labels group and filter experiments." : "These experiments have no labels yet. Labels group and filter experiments."}</p>}
      <ul className={css.list}>
        {labels.map(({ label, count }) => {
          const now = edits.get(label) ?? "leave";
          return (
            <li key={label}>
              <label>
                <input
                  type="checkbox"
                  checked={now === "add" || (now === "leave" && count === experiments.length)}
                  ref={(box) => {
                    if (box) box.indeterminate = now === "leave" && count > 0 && count < experiments.length;
                  }}
                  onChange={() => edit(label, nextEdit(now, count, experiments.length))}
                />
                <span>{label}</span>
                <span className="muted">{describeEdit(now, count, experiments.length)}</span>
              </label>
            </li>
          );
        })}
      </ul>
      <div className={css.add}>
        <Field label="New label" data-first value={name} maxLength={64} list={offered} onChange={(event) => setName(event.target.value)} onKeyDown={onKey} />
        <Button icon="plus" disabled={name.trim() === ""} onClick={take}>
          Add
        </Button>
      </div>
      <datalist id={offered}>
        {known.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </ActDialog>
  );
}

function describeEdit(edit: LabelEdit, count: number, of: number): string {
  if (edit === "add") return of === 1 ? "will be added" : "will be added to all";
  if (edit === "remove") return of === 1 ? "will be removed" : "will be removed from all";
  return count === of ? "" : `${count} of ${of}`;
}
