import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { asProblem } from "@/api/problem";
import type { Experiment } from "@/api/types";
import { Button, IconButton } from "@/parts/Button";
import { DataTable } from "@/parts/table/DataTable";
import { Menu } from "@/parts/Menu";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { Page } from "@/parts/Page";
import { useMay } from "@/session/session";
import { LabelsDialog } from "@/training/LabelsDialog";
import { ActionBar } from "./ActionBar";
import { BulkDialog } from "./BulkDialog";
import { columnsOf, ExperimentCard, showsHyperparameters } from "./columns";
import css from "./Experiments.module.css";
import { filterOf, orderOf, sortOf } from "./query";
import type { ListSearch } from "./search";
import { Toolbar } from "./Toolbar";
import { useListed } from "./useListed";
import { useShownColumns } from "./views";

const idOf = (one: Experiment) => one.id;

export default function ExperimentsPage() {
  const search = useSearch({ from: "/experiments" });
  const navigate = useNavigate();
  const may = useMay();
  const [ticked, setTicked] = useState<Set<string>>(new Set());
  const [isBulk, setBulk] = useState(false);
  const [isLabelling, setLabelling] = useState(false);
  const [stored, setStored] = useShownColumns();
  const columnIds = search.columns ?? stored;
  const onSearch = (next: ListSearch) => {
    // Opening or closing a group keeps the selection.
    if (filterOf(next) !== filterOf(search) || next.archived !== search.archived) setTicked(new Set());
    void navigate({ to: "/experiments", search: next });
  };
  const list = useListed(search, showsHyperparameters(columnIds), onSearch);
  const { rows } = list;
  const visible = useMemo(() => columnsOf(rows, columnIds).filter((column) => columnIds.includes(column.id)), [rows, columnIds]);
  const isFilterInvalid = list.error !== null && asProblem(list.error).status === 422;
  const onColumnIds = (next: string[]) => {
    setStored(next);
    if (search.columns) void navigate({ to: "/experiments", search: { ...search, columns: next }, replace: true });
  };
  const open = useCallback(
    (one: Experiment, inNewTab: boolean) => {
      if (inNewTab) window.open(`/experiments/${one.number}`, "_blank", "noopener");
      else void navigate({ to: "/experiments/$experiment", params: { experiment: String(one.number) } });
    },
    [navigate],
  );
  const chosen = [...new Map(rows.filter((one) => ticked.has(one.id)).map((one) => [one.id, one])).values()];
  const known = useMemo(() => [...new Set(rows.flatMap((one) => one.labels))].sort(), [rows]);
  return (
    <Page title={search.archived ? "Archive" : "Experiments"} fills actions={may("experiment.write") && <Actions onBulk={() => setBulk(true)} />}>
      <Toolbar search={search} onSearch={onSearch} items={rows} columnIds={columnIds} onColumnIds={onColumnIds} error={list.error} />
      <div className={css.ground}>
        {list.isPending ? (
          <Loading rows={12} />
        ) : list.error && !isFilterInvalid ? (
          <Trouble error={list.error} retry={list.retry} />
        ) : (
          <DataTable
            label="experiments"
            items={rows}
            columns={visible}
            idOf={idOf}
            groups={list.groups}
            onToggle={list.onToggle}
            total={list.hasMore ? -1 : rows.length}
            order={orderOf(search.sort)}
            onOrder={(order) => onSearch({ ...search, sort: sortOf(order) })}
            onOpen={open}
            ticked={ticked}
            onTicked={may("experiment.write") ? setTicked : undefined}
            onEnd={list.more}
            card={(one) => <ExperimentCard experiment={one} />}
            empty={isFilterInvalid ? <Empty icon="filter" title="Invalid filter" /> : <NoExperiments search={search} mayCreate={may("experiment.write")} />}
          />
        )}
        {chosen.length > 0 && (
          <ActionBar
            selected={chosen}
            onClear={() => setTicked(new Set())}
            onLabel={() => setLabelling(true)}
            onCompare={() => void navigate({ href: `/compare?experiments=${chosen.map((one) => one.number).join(",")}` })}
          />
        )}
      </div>
      {isLabelling && <LabelsDialog experiments={chosen} known={known} onClose={() => setLabelling(false)} />}
      {isBulk && <BulkDialog filter={filterOf(search)} archived={search.archived ?? false} onClose={() => setBulk(false)} />}
    </Page>
  );
}

function Actions({ onBulk }: { onBulk: () => void }) {
  const navigate = useNavigate();
  return (
    <>
      <Menu
        label="More"
        trigger={(props) => <IconButton icon="more" label="More" {...props} />}
        items={[{ label: "Act on all matching experiments…", icon: "filter", onSelect: onBulk }]}
      />
      <Button kind="primary" icon="plus" onClick={() => void navigate({ to: "/experiments/new" })}>
        New experiment
      </Button>
    </>
  );
}

function NoExperiments({ search, mayCreate }: { search: ListSearch; mayCreate: boolean }) {
  const navigate = useNavigate();
  if (filterOf(search) || search.archived) {
    return (
      <Empty icon="filter" title={search.archived ? "The archive is empty" : "No experiments match this filter"}>
        <Button onClick={() => void navigate({ to: "/experiments", search: {} })}>Show all experiments</Button>
      </Empty>
    );
  }
  return (
    <Empty title="No experiments yet">
      <p>An experiment is a config and a folder of code. Muster searches its hyperparameters, trains the trials and stores metrics, checkpoints and logs.</p>
      {mayCreate && (
        <p>
          <Button kind="primary" icon="plus" onClick={() => void navigate({ to: "/experiments/new" })}>
            Create experiment
          </Button>
        </p>
      )}
    </Empty>
  );
}
