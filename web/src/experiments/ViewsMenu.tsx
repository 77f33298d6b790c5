import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { ActDialog } from "@/parts/ActDialog";
import { IconButton } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Menu, type MenuItem } from "@/parts/Menu";
import { toastProblem } from "@/parts/Toast";
import type { ListSearch } from "./search";
import { viewsQuery } from "./views";

interface ViewsMenuProps {
  search: ListSearch;
  columnIds: readonly string[];
  onSearch: (next: ListSearch) => void;
}

/** The caller's saved views: filter, order and columns under a name. */
export function ViewsMenu({ search, columnIds, onSearch }: ViewsMenuProps) {
  const router = useRouter();
  const client = useQueryClient();
  const { data: views = [] } = useQuery(viewsQuery);
  const [isNaming, setNaming] = useState(false);
  const here = router.buildLocation({ to: "/experiments", search: { ...search, columns: [...columnIds] } }).href;
  const remove = useMutation({
    mutationFn: (view: string) => ask(api.DELETE("/v1/views/{view}", { params: { path: { view } } })),
    onSettled: () => client.invalidateQueries({ queryKey: keys.views }),
    onError: toastProblem,
  });
  const items: (MenuItem | "line")[] = [
    ...views.map((view): MenuItem => ({ label: view.name, isOn: view.address === here, onSelect: () => void router.navigate({ href: view.address }) })),
    ...(views.length > 0 ? (["line"] as const) : []),
    { label: "Save this view…", icon: "plus", onSelect: () => setNaming(true) },
    ...views
      .filter((view) => view.address === here)
      .map((view): MenuItem => ({ label: `Delete view ${view.name}`, icon: "trash", onSelect: () => remove.mutate(view.name) })),
    "line",
    { label: search.archived ? "Leave the archive" : "Show the archive", icon: "archive", onSelect: () => onSearch({ ...search, archived: search.archived ? undefined : true }) },
  ];
  return (
    <>
      <Menu label="Views" items={items} trigger={(props) => <IconButton icon="bookmark" label="Views" {...props} />} />
      {isNaming && <SaveView address={here} taken={views.map((view) => view.name)} onClose={() => setNaming(false)} />}
    </>
  );
}

function SaveView({ address, taken, onClose }: { address: string; taken: readonly string[]; onClose: () => void }) {
  const [text, setText] = useState("");
  const name = text.trim();
  const isTaken = taken.includes(name);
  return (
    <ActDialog
      title="Save this view"
      verb={isTaken ? "Replace" : "Save"}
      isReady={name !== ""}
      act={() => ask(api.PUT("/v1/views", { body: { name, address } }))}
      stale={keys.views}
      done={`View ${name} saved`}
      onClose={onClose}
    >
      <Field
        label="Name"
        data-first
        value={text}
        maxLength={60}
        onChange={(event) => setText(event.target.value)}
        hint={isTaken ? "You already have a view with this name. Saving replaces it." : "Saves filter, order and columns for you, in every browser."}
      />
    </ActDialog>
  );
}
