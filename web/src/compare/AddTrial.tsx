import { Button } from "@/parts/Button";
import css from "./Compare.module.css";

/** Adds trials by their names, such as 31.4. */
export function AddTrial({ onAdd }: { onAdd: (trials: string[]) => void }) {
  return (
    <form
      className={css.add}
      onSubmit={(event) => {
        event.preventDefault();
        const found = String(new FormData(event.currentTarget).get("trials") ?? "").match(/\d+\.\d+/g);
        if (found) onAdd(found);
        event.currentTarget.reset();
      }}
    >
      <input name="trials" required pattern="\s*\d+\.\d+([\s,]+\d+\.\d+)*\s*" title="Trial names such as 31.4, separated by spaces or commas" aria-label="Trials to add, such as 31.4" placeholder="trial, e.g. 31.4" />
      <Button type="submit" icon="plus">
        Add
      </Button>
    </form>
  );
}
