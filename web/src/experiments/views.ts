/** Saved views, stored on the server, and the columns of this browser, stored locally. */
import { queryOptions } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { DEFAULT_COLUMNS } from "./columns";

const COLUMNS = "muster.columns";
const HERE = /^\/experiments(\?|$)/;

/** The caller's saved views of this list, by name. */
export const viewsQuery = queryOptions({
  queryKey: keys.views,
  queryFn: async ({ signal }) => (await ask(api.GET("/v1/views", { signal }))).items.filter((view) => HERE.test(view.address)),
});

/** Columns that this browser shows, in order. */
export function useShownColumns(): [readonly string[], (next: string[]) => void] {
  const [value, setValue] = useState<readonly string[]>(() => {
    try {
      return (JSON.parse(localStorage.getItem(COLUMNS) ?? "null") as unknown[] | null)?.map(String) ?? DEFAULT_COLUMNS;
    } catch {
      return DEFAULT_COLUMNS;
    }
  });
  const keep = (next: string[]) => {
    setValue(next);
    try {
      localStorage.setItem(COLUMNS, JSON.stringify(next));
    } catch {
      // Storage may be full or blocked: the choice then lasts until the page is closed.
    }
  };
  return [value, keep];
}
