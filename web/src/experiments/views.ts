/** What is kept of how a list is looked at: named views on the server, wherever one signs in; the usual columns in this browser. */
import { queryOptions } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { USUAL } from "./columns";

const COLUMNS = "muster.columns";
const HERE = /^\/experiments(\?|$)/;

/** The reader's own views of this list, by name. */
export const viewsQuery = queryOptions({
  queryKey: keys.views,
  queryFn: async ({ signal }) => (await ask(api.GET("/v1/views", { signal }))).items.filter((view) => HERE.test(view.address)),
});

/** The columns that this browser shows, in their order. */
export function useShownColumns(): [readonly string[], (next: string[]) => void] {
  const [value, setValue] = useState<readonly string[]>(() => {
    try {
      return (JSON.parse(localStorage.getItem(COLUMNS) ?? "null") as unknown[] | null)?.map(String) ?? USUAL;
    } catch {
      return USUAL;
    }
  });
  const keep = (next: string[]) => {
    setValue(next);
    try {
      localStorage.setItem(COLUMNS, JSON.stringify(next));
    } catch {
      // Storage may be full or closed: it holds until the page goes.
    }
  };
  return [value, keep];
}
