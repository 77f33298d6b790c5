import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { counted } from "@/parts/format";
import { Segments } from "@/parts/Segments";
import { useMay } from "@/session/session";
import { Explained } from "./Explained";
import { PriorityDialog } from "./PriorityDialog";
import css from "./Queue.module.css";
import { QueueList } from "./QueueList";
import { RunningList } from "./RunningList";
import { poolsQuery, runningQuery, waitingQuery } from "./data";
import type { Move } from "./priority";
import type { ClusterSearch } from "./search";

/** Waiting trials in scheduling order with the reasons. Priorities can be changed by dragging or with the keyboard, after a confirmation. */
export function QueueTab() {
  const search: ClusterSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const may = useMay();
  const waiting = useQuery(waitingQuery);
  const running = useQuery(runningQuery);
  const pools = useQuery(poolsQuery);
  const [move, setMove] = useState<Move | null>(null);
  const go = (next: ClusterSearch) => void navigate({ to: "/cluster/$tab", params: { tab: "queue" }, search: { ...search, ...next }, replace: true });
  const trouble = waiting.error ?? running.error ?? pools.error;
  if (trouble) return <Trouble error={trouble} retry={() => void Promise.all([waiting.refetch(), running.refetch(), pools.refetch()])} />;
  if (!waiting.data || !running.data || !pools.data) return <Loading rows={10} />;
  const names = pools.data.items.map((pool) => pool.name);
  const pool = search.pool ?? waiting.data.items[0]?.pool ?? names[0] ?? "";
  const entries = waiting.data.items.filter((entry) => entry.pool === pool);
  const runningHere = running.data.items.filter((entry) => entry.pool === pool);
  const rules = pools.data.items.find((one) => one.name === pool)?.rules;
  const chosen = [...waiting.data.items, ...running.data.items].find((entry) => entry.trial === search.trial);
  return (
    <div className={css.queue}>
      <div className={css.main}>
        <div className={css.bar}>
          {names.length > 1 && (
            <Segments
              label="Pool"
              value={pool}
              options={names.map((name) => ({ value: name, label: name, count: waiting.data.items.filter((entry) => entry.pool === name).length }))}
              onChange={(next) => go({ pool: next, trial: undefined })}
            />
          )}
          <p className="muted">{ruleOf(rules?.order, may("experiment.write"))}</p>
        </div>
        {entries.length === 0 ? (
          <Empty icon="check" title="None of your trials wait">
            {runningHere.length > 0 ? `${counted(runningHere.length, "trial")} of yours ${runningHere.length === 1 ? "runs" : "run"} in this pool.` : "Trials that wait for slots appear here with their position, the reason and the expected start."}
          </Empty>
        ) : (
          <QueueList
            entries={entries}
            chosen={search.trial ?? null}
            onChoose={(entry) => go({ pool, trial: entry.trial })}
            onMove={rules?.order === "priority" && may("experiment.write") ? setMove : undefined}
          />
        )}
        {runningHere.length > 0 && <RunningList entries={runningHere} />}
      </div>
      {chosen && <Explained key={chosen.trial} entry={chosen} onClose={() => go({ trial: undefined })} onPriority={setMove} />}
      {move && <PriorityDialog move={move} entries={entries} onClose={() => setMove(null)} />}
    </div>
  );
}

function ruleOf(order: string | undefined, mayMove: boolean): string {
  if (order === "priority") return `Scheduled by priority, then by submission.${mayMove ? " Drag a trial to change the priority of its experiment." : ""}`;
  if (order === "fair_share") return "Scheduled by fair share: tenants, workspaces, users and experiments with the least usage go first. Priorities order the experiments of one user.";
  return "First come, first served. Priorities have no effect in this pool.";
}
