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
  /** The experiments that are loaded. */
  items: readonly Experiment[];
  columnIds: readonly string[];
  onColumnIds: (columnIds: string[]) => void;
  /** Error of the list query; an invalid filter is reported below the field. */
  error: unknown;
}

/** Filters, grouping, views and columns of the list. */
export function Toolbar({ search, onSearch, items, columnIds, onColumnIds, error }: ToolbarProps) {
  const [isBuilding, setBuilding] = useState(false);
  const [isChoosing, setChoosing] = useState(false);
  const isInvalid = error !== null && error !== undefined && ["bad_filter", "unknown_name"].includes(asProblem(error).code);
  const only = (state: string | undefined) => onSearch({ ...search, state });
  return (
    <>
      <div className={css.bar}>
        <div className={css.states} role="group" aria-label="States">
          <button type="button" aria-pressed={!search.state} onClick={() => only(undefined)}>
            All
          </button>
          {Object.entries(STATES).map(([name, { label, filter }]) => (
            <button key={name} type="button" title={filter} aria-pressed={search.state === name} onClick={() => only(name)}>
              {label}
            </button>
          ))}
        </div>
        <FilterInput value={search.filter ?? ""} isInvalid={isInvalid} onChange={(filter) => onSearch({ ...search, filter: filter || undefined })} />
        <Button icon="plus" onClick={() => setBuilding(true)}>
          Filter
        </Button>
        <GroupMenu search={search} onSearch={onSearch} />
        <ViewsMenu search={search} columnIds={columnIds} onSearch={onSearch} />
        <IconButton icon="columns" label="Columns" onClick={() => setChoosing(true)} />
      </div>
      {isInvalid && (
        <div className={css.error}>
          <Complaint error={error} />
        </div>
      )}
      {isChoosing && <ColumnsDialog search={search} items={items} columnIds={columnIds} onColumnIds={onColumnIds} onClose={() => setChoosing(false)} />}
      {isBuilding && <FilterDialog before={search.filter ?? ""} onClose={() => setBuilding(false)} onFilter={(filter) => onSearch({ ...search, filter })} />}
    </>
  );
}

/** Chooses the grouping of the list. */
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

function FilterInput({ value, isInvalid, onChange }: { value: string; isInvalid: boolean; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(text.trim());
  };
  return (
    <form className={css.filter} data-bad={isInvalid || undefined} onSubmit={submit}>
      <Icon name="filter" size={14} />
      <input
        value={text}
        spellCheck={false}
        autoCapitalize="off"
        aria-label="Filter"
        aria-invalid={isInvalid}
        placeholder="name contains digits and best.value < 0.3"
        onChange={(event) => setText(event.target.value)}
        onBlur={() => text.trim() !== value && onChange(text.trim())}
      />
      {text !== "" && <IconButton icon="close" label="Clear the filter" onClick={() => onChange("")} />}
    </form>
  );
}
