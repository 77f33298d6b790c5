import { useState } from "react";
import { USUAL } from "./columns";
import { readListSearch, type ListSearch } from "./search";

export interface View {
  name: string;
  search: ListSearch;
}

/** What this browser keeps under a name; `usual` where that is nothing, or none of ours. */
function useKept<Value>(name: string, usual: Value, read: (kept: unknown) => Value): [Value, (next: Value) => void] {
  const [value, setValue] = useState<Value>(() => {
    try {
      const kept = localStorage.getItem(name);
      return kept === null ? usual : read(JSON.parse(kept));
    } catch {
      return usual;
    }
  });
  const keep = (next: Value) => {
    setValue(next);
    try {
      localStorage.setItem(name, JSON.stringify(next));
    } catch {
      // Storage may be full or closed: it holds until the page goes.
    }
  };
  return [value, keep];
}

/** The named views of this browser. */
export function useViews(): [readonly View[], (next: readonly View[]) => void] {
  return useKept<readonly View[]>("muster.views", [], (kept) =>
    (kept as View[]).map(({ name, search }) => ({ name: String(name), search: readListSearch({ ...search }) })),
  );
}

/** The columns that this browser shows, in their order. */
export function useShownColumns(): [readonly string[], (next: string[]) => void] {
  return useKept<readonly string[]>("muster.columns", USUAL, (kept) => (kept as unknown[]).map(String));
}
