import { useEffect, useState, type FormEvent } from "react";
import { asProblem } from "@/api/problem";
import { Button, IconButton } from "@/parts/Button";
import { Icon } from "@/parts/Icon";
import { Complaint } from "@/parts/Notes";
import { Menu } from "@/parts/Menu";
import type { Experiment } from "@/api/types";
import { ColumnsDialog } from "./ColumnsDialog";
import css from "./Experiments.module.css";
import { FilterDialog } from "./FilterDialog";
import { GROUPINGS, readGrouping } from "./grouping";
import { STATES } from "./query";
import type { ListSearch } from "./search";
import { ViewsMenu } from "./ViewsMenu";

interface ToolbarProps {
  search: ListSearch;
  onSearch: (next: ListSearch) => void;
  /** Those that are loaded. */
  items: readonly Experiment[];
  shown: readonly string[];
  onShown: (shown: string[]) => void;
  /** Why the list could not be had: a filter that is none is said beside it. */
  error: unknown;
}

/** What narrows the list, and what of it is shown. */
export function Toolbar({ search, onSearch, items, shown, onShown, error }: ToolbarProps) {
  const [isBuilding, setBuilding] = useState(false);
  const [isChoosing, setChoosing] = useState(false);
  const isBad = error !== null && error !== undefined && ["bad_filter", "unknown_name"].includes(asProblem(error).code);
  const only = (state: string | undefined) => onSearch({ ...search, state });
  return (
    <>
      <div className={css.bar}>
        <div className={css.states} role="group" aria-label="States">
          <button type="button" aria-pressed={!search.state} onClick={() => only(undefined)}>
            All
          </button>
          {Object.entries(STATES).map(([name, { label }]) => (
            <button key={name} type="button" aria-pressed={search.state === name} onClick={() => only(name)}>
              {label}
            </button>
          ))}
        </div>
        <FilterInput value={search.filter ?? ""} isBad={isBad} onChange={(filter) => onSearch({ ...search, filter: filter || undefined })} />
        <Button icon="plus" onClick={() => setBuilding(true)}>
          Filter
        </Button>
        <GroupMenu search={search} onSearch={onSearch} />
        <ViewsMenu search={search} shown={shown} onSearch={onSearch} />
        <IconButton icon="columns" label="Columns" onClick={() => setChoosing(true)} />
      </div>
      {isBad && (
        <div className={css.said}>
          <Complaint error={error} />
        </div>
      )}
      {isChoosing && <ColumnsDialog search={search} items={items} shown={shown} onShown={onShown} onClose={() => setChoosing(false)} />}
      {isBuilding && <FilterDialog before={search.filter ?? ""} onClose={() => setBuilding(false)} onFilter={(filter) => onSearch({ ...search, filter })} />}
    </>
  );
}

/** What the experiments are gathered by. */
function GroupMenu({ search, onSearch }: Pick<ToolbarProps, "search" | "onSearch">) {
  const by = (name: string | undefined) => onSearch({ ...search, grouped: readGrouping(name), open: undefined });
  return (
    <Menu
      label="Group by"
      items={[
        { label: "No groups", isOn: !search.grouped, onSelect: () => by(undefined) },
        "line",
        ...Object.entries(GROUPINGS).map(([name, { label }]) => ({ label, isOn: search.grouped === name, onSelect: () => by(name) })),
      ]}
      trigger={(props) => (
        <Button icon="groups" {...props}>
          {search.grouped ? `By ${GROUPINGS[search.grouped].label.toLowerCase()}` : "Group"}
        </Button>
      )}
    />
  );
}

function FilterInput({ value, isBad, onChange }: { value: string; isBad: boolean; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(text.trim());
  };
  return (
    <form className={css.filter} data-bad={isBad || undefined} onSubmit={submit}>
      <Icon name="filter" size={14} />
      <input
        value={text}
        spellCheck={false}
        autoCapitalize="off"
        aria-label="Filter"
        aria-invalid={isBad}
        placeholder="name contains digits and best.value < 0.3"
        onChange={(event) => setText(event.target.value)}
        onBlur={() => text.trim() !== value && onChange(text.trim())}
      />
      {text !== "" && <IconButton icon="close" label="Clear the filter" onClick={() => onChange("")} />}
    </form>
  );
}
