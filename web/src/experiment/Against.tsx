import { Button } from "@/parts/Button";
import css from "./Experiment.module.css";
import type { TabProps } from "./tab";

/** Which other experiment this one is held against; the address keeps it, for config and code alike. */
export function Against({ search, onSearch }: Pick<TabProps, "search" | "onSearch">) {
  return (
    <form
      className={css.against}
      onSubmit={(event) => {
        event.preventDefault();
        onSearch({ ...search, against: String(new FormData(event.currentTarget).get("against") ?? "") || undefined });
      }}
    >
      <input key={search.against} name="against" inputMode="numeric" pattern="\d+" aria-label="Number of the other experiment" placeholder="its number" defaultValue={search.against} />
      <Button type="submit">Compare</Button>
      {search.against && <Button icon="close" kind="quiet" onClick={() => onSearch({ ...search, against: undefined })}>Alone</Button>}
    </form>
  );
}
