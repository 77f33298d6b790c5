import { useState } from "react";
import { Button, IconButton } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field } from "@/parts/Field";
import { Menu, type MenuItem } from "@/parts/Menu";
import type { ListSearch } from "./search";
import { useViews } from "./views";

/** Filters and orders that this reader has named. */
export function ViewsMenu({ search, onSearch }: { search: ListSearch; onSearch: (next: ListSearch) => void }) {
  const [views, save] = useViews();
  const [isNaming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const toggle = { label: search.archived ? "Show what is not archived" : "Show the archive", icon: "archive", onSelect: () => onSearch({ ...search, archived: search.archived ? undefined : true }) } as const;
  const items: (MenuItem | "line")[] = [
    ...views.map((view): MenuItem => ({ label: view.name, icon: "bookmark", onSelect: () => onSearch(view.search) })),
    ...(views.length > 0 ? (["line"] as const) : []),
    { label: "Save this view…", icon: "plus", onSelect: () => setNaming(true) },
    ...views
      .filter((view) => JSON.stringify(view.search) === JSON.stringify(search))
      .map((view): MenuItem => ({ label: `Forget ${view.name}`, icon: "trash", onSelect: () => save(views.filter((one) => one !== view)) })),
    "line",
    toggle,
  ];
  const keep = () => {
    save([...views.filter((view) => view.name !== name.trim()), { name: name.trim(), search }]);
    setNaming(false);
    setName("");
  };
  return (
    <>
      <Menu label="Views" items={items} trigger={(props) => <IconButton icon="bookmark" label="Views" {...props} />} />
      {isNaming && (
        <Dialog
          title="Save this view"
          onClose={() => setNaming(false)}
          footer={
            <Button kind="primary" disabled={name.trim() === ""} onClick={keep}>
              Save
            </Button>
          }
        >
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (name.trim() !== "") keep();
            }}
          >
            <Field label="Name" value={name} autoFocus maxLength={60} onChange={(event) => setName(event.target.value)} hint="Filter and order, kept in this browser." />
          </form>
        </Dialog>
      )}
    </>
  );
}
