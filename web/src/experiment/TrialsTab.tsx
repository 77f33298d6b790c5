import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { Button } from "@/parts/Button";
import { DataTable } from "@/parts/table/DataTable";
import type { Column, Order } from "@/parts/table/props";
import { Field } from "@/parts/Field";
import { Complaint, Empty, Loading } from "@/parts/Notes";
import { Num } from "@/parts/Number";
import { State } from "@/parts/State";
import { Elapsed } from "@/parts/Time";
import { useMay } from "@/session/session";
import { bestOrOdd, isFinal, metricColumn, useRows, type Metric, type TrialRow } from "@/training/rows";
import { numberIn, sayValue } from "@/training/values";
import { KillDialog } from "@/training/KillDialog";
import css from "./Experiment.module.css";
import type { TabProps } from "./tab";
import { varying } from "./varying";

/** All trials with hyperparameters and results, filtered and sorted by the API. */
export function TrialsTab({ experiment, search, onSearch }: TabProps) {
  const reference = String(experiment.number);
  const navigate = useNavigate();
  const [ticked, setTicked] = useState<Set<string>>(new Set());
  const own = useMemo<Metric>(() => ({ group: "validation", name: experiment.metric ?? "loss" }), [experiment.metric]);
  const names = useMemo(() => varying(experiment.config), [experiment.config]);
  const columns = useMemo(() => columnsOf(own, names), [own, names]);
  const columnNames = ["best", "runs", "created", "ended", metricColumn(own, "last"), metricColumn(own, "last_step"), ...names.map((name) => `hparams.${name}`)];
  const list = useRows(reference, { columns: columnNames, filter: search.filter, sort: search.sort });
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = list;
  const more = useCallback(() => void (hasNextPage && !isFetchingNextPage && fetchNextPage()), [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const open = useCallback(
    (row: TrialRow, inNewTab: boolean) => {
      const trial = nameOf(row);
      if (inNewTab) window.open(`/trials/${trial}`, "_blank", "noopener");
      else void navigate({ to: "/trials/$trial", params: { trial } });
    },
    [navigate],
  );
  const may = useMay();
  const [killed, setKilled] = useState<readonly string[]>([]);
  const rows = list.rows.filter((row) => ticked.has(row.trial));
  const chosen = rows.map(nameOf);
  const live = may("experiment.write") ? rows.filter((row) => !isFinal(row.state ?? null)).map(nameOf) : [];
  return (
    <>
      <form
        className={css.filter}
        onSubmit={(event) => {
          event.preventDefault();
          const filter = new FormData(event.currentTarget).get("filter");
          onSearch({ ...search, filter: String(filter ?? "") || undefined });
        }}
      >
        <Field key={search.filter} label="Filter" name="filter" defaultValue={search.filter} placeholder={`${names[0] ? `hparams.${names[0]} < 0.01 and ` : ""}best > 0.9`} spellCheck={false} autoComplete="off" />
        <Button type="submit" icon="filter">
          Filter
        </Button>
        {chosen.length > 1 && (
          <Button kind="primary" icon="compare" onClick={() => void navigate({ href: `/compare?trials=${chosen.join(",")}` })}>
            Compare {chosen.length}
          </Button>
        )}
        {live.length > 0 && (
          <Button kind="danger" icon="close" onClick={() => setKilled(live)}>
            Kill {live.length}…
          </Button>
        )}
      </form>
      {killed.length > 0 && <KillDialog experiment={experiment.number} trials={killed} onClose={() => setKilled([])} />}
      {list.error && <Complaint error={list.error} />}
      {list.isPending ? (
        <Loading rows={12} />
      ) : (
        <DataTable
          label="trials"
          items={list.rows}
          columns={columns}
          idOf={(row) => row.trial}
          total={list.total ?? -1}
          order={orderOf(search.sort)}
          onOrder={(order) => onSearch({ ...search, sort: order ? `${order.isDown ? "-" : ""}${order.by}` : undefined })}
          onOpen={open}
          ticked={ticked}
          onTicked={setTicked}
          onEnd={more}
          card={(row) => <TrialCard row={row} own={own} names={names} />}
          empty={<Empty title={search.filter ? "No trials match this filter" : "No trials yet"}>{!search.filter && <p>The search creates the first trials when it starts.</p>}</Empty>}
        />
      )}
    </>
  );
}

function nameOf(row: TrialRow): string {
  return `${row.experiment_number}.${row.number}`;
}

function orderOf(sort: string | undefined): Order | null {
  if (!sort) return null;
  return sort.startsWith("-") ? { by: sort.slice(1), isDown: true } : { by: sort, isDown: false };
}

function columnsOf(own: Metric, names: readonly string[]): Column<TrialRow>[] {
  const last = metricColumn(own, "last");
  const step = metricColumn(own, "last_step");
  return [
    { id: "number", header: "Trial", width: 84, sort: "number", cell: (row) => <span className="number">{`${row.experiment_number}.${row.number}`}</span> },
    { id: "state", header: "State", width: 116, sort: "state", cell: (row) => <State state={row.state ?? "queued"} /> },
    { id: "best", header: `Best ${own.name}`, width: 128, sort: "best", end: true, cell: (row) => <Num value={numberIn(row.values.best)} digits={5} /> },
    { id: "last", header: "Latest", width: 96, sort: last, end: true, cell: (row) => <Num value={numberIn(row.values[last])} /> },
    { id: "step", header: "Step", width: 84, sort: step, end: true, cell: (row) => <Num value={numberIn(row.values[step])} /> },
    ...names.map((name) => ({
      id: `hparams.${name}`,
      header: name,
      width: 116,
      end: true,
      sort: `hparams.${name}`,
      cell: (row: TrialRow) => <span className="mono">{sayValue(row.values[`hparams.${name}`])}</span>,
    })),
    { id: "runs", header: "Runs", width: 72, sort: "runs", end: true, cell: (row) => <Runs row={row} /> },
    { id: "took", header: "Duration", width: 104, end: true, cell: (row) => <Elapsed from={row.values.created as string | null} to={row.values.ended as string | null} /> },
  ];
}

function Runs({ row }: { row: TrialRow }) {
  const runs = Number(row.values.runs ?? 0);
  return (
    <span className={runs > 1 ? css.warn : "number"} title={runs > 1 ? `interrupted or paused ${runs - 1} times` : undefined}>
      {runs}
    </span>
  );
}

function TrialCard({ row, own, names }: { row: TrialRow; own: Metric; names: readonly string[] }) {
  return (
    <span className={css.card}>
      <span className={css.cardHead}>
        <b className="number">{`${row.experiment_number}.${row.number}`}</b>
        <State state={row.state ?? "queued"} />
      </span>
      <span className={css.cardFoot}>
        <span className="muted">best {own.name}</span>
        <Num value={bestOrOdd(row, own)} digits={5} />
      </span>
      <span className={`${css.cardLine} muted mono`}>{names.map((name) => `${name} ${sayValue(row.values[`hparams.${name}`])}`).join("  ")}</span>
    </span>
  );
}
