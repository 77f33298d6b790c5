import { Button } from "@/parts/Button";
import css from "./Experiment.module.css";
import type { TabProps } from "./tab";

/** Chooses the experiment to compare config and code with; kept in the URL. */
export function Against({ search, onSearch }: Pick<TabProps, "search" | "onSearch">) {
  return (
    <form
      className={css.against}
      onSubmit={(event) => {
        event.preventDefault();
        onSearch({ ...search, against: String(new FormData(event.currentTarget).get("against") ?? "") || undefined });
      }}
    >
      <input key={search.against} name="against" inputMode="numeric" pattern="\d+" aria-label="Number of the other experiment" placeholder="number" defaultValue={search.against} />
      <Button type="submit">Compare</Button>
      {search.against && <Button icon="close" kind="quiet" onClick={() => onSearch({ ...search, against: undefined })}>Stop comparing</Button>}
    </form>
  );
}
