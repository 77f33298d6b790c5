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

/** What waits, in the order of service, and why; who goes first is changed by drag and by key, and confirmed. */
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
  const shown = search.pool ?? waiting.data.items[0]?.pool ?? names[0] ?? "";
  const entries = waiting.data.items.filter((entry) => entry.pool === shown);
  const holding = running.data.items.filter((entry) => entry.pool === shown);
  const rules = pools.data.items.find((pool) => pool.name === shown)?.rules;
  const chosen = [...waiting.data.items, ...running.data.items].find((entry) => entry.trial === search.trial);
  return (
    <div className={css.queue}>
      <div className={css.main}>
        <div className={css.bar}>
          {names.length > 1 && (
            <Segments
              label="Pool"
              value={shown}
              options={names.map((name) => ({ value: name, label: name, count: waiting.data.items.filter((entry) => entry.pool === name).length }))}
              onChange={(pool) => go({ pool, trial: undefined })}
            />
          )}
          <p className="muted">{ruleOf(rules?.order, may("experiment.write"))}</p>
        </div>
        {entries.length === 0 ? (
          <Empty icon="check" title="Nothing of yours waits">
            {holding.length > 0 ? `${counted(holding.length, "trial")} ${holding.length === 1 ? "has its" : "have their"} slots.` : "What waits for slots stands here, with its place and the reason."}
          </Empty>
        ) : (
          <QueueList
            entries={entries}
            chosen={search.trial ?? null}
            onChoose={(entry) => go({ pool: shown, trial: entry.trial })}
            onMove={rules?.order === "priority" && may("experiment.write") ? setMove : undefined}
          />
        )}
        {holding.length > 0 && <RunningList entries={holding} />}
      </div>
      {chosen && <Explained key={chosen.trial} entry={chosen} onClose={() => go({ trial: undefined })} onPriority={setMove} />}
      {move && <PriorityDialog move={move} entries={entries} onClose={() => setMove(null)} />}
    </div>
  );
}

function ruleOf(order: string | undefined, mayMove: boolean): string {
  if (order === "priority") return `Served by priority, then by submission${mayMove ? ": drag a trial to let its experiment go sooner or later." : "."}`;
  if (order === "fair_share") return "Served by fair share: tenants, users and experiments that have had least go first. Priorities order one user's own experiments (muster queue priority).";
  return "First come, first served: nobody is moved by hand.";
}
