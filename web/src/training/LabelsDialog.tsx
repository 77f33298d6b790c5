import { useId, useState, type KeyboardEvent } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Experiment } from "@/api/types";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { counted } from "@/parts/format";
import css from "./Label.module.css";
import { pressed, standings, wishedFor, type Wish } from "./labels";

interface LabelsDialogProps {
  /** Those that were chosen by hand: of no others is anything changed. */
  experiments: readonly Experiment[];
  /** Labels that others have: they are offered. */
  known?: readonly string[];
  onClose: () => void;
}

/** Labels of the chosen experiments: those that all have, that some have, and new ones. Nothing is changed before it is saved. */
export function LabelsDialog({ experiments, known = [], onClose }: LabelsDialogProps) {
  const [wishes, setWishes] = useState<ReadonlyMap<string, Wish>>(new Map());
  const [name, setName] = useState("");
  const offered = useId();
  const wish = (label: string, next: Wish) => setWishes(new Map(wishes).set(label, next));
  const [add, remove] = [wishedFor(wishes, "add"), wishedFor(wishes, "remove")];
  const shown = standings(experiments, wishes.keys());
  const take = () => {
    if (name.trim() === "") return;
    wish(name.trim(), "add");
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
      said={`labels of ${counted(experiments.length, "experiment")} have changed`}
      onClose={onClose}
    >
      {shown.length === 0 && <p className="muted">{experiments.length === 1 ? "It has none yet." : "None of them has one yet."}</p>}
      <ul className={css.list}>
        {shown.map(({ label, count }) => {
          const now = wishes.get(label) ?? "leave";
          return (
            <li key={label}>
              <label>
                <input
                  type="checkbox"
                  checked={now === "add" || (now === "leave" && count === experiments.length)}
                  ref={(box) => {
                    if (box) box.indeterminate = now === "leave" && count > 0 && count < experiments.length;
                  }}
                  onChange={() => wish(label, pressed(now, count, experiments.length))}
                />
                <span>{label}</span>
                <span className="muted">{sayStanding(now, count, experiments.length)}</span>
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

function sayStanding(wish: Wish, count: number, of: number): string {
  if (wish === "add") return of === 1 ? "is added" : "is added to all";
  if (wish === "remove") return of === 1 ? "is taken away" : "is taken from all";
  return count === of ? "" : `${count} of ${of}`;
}
