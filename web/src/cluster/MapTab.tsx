import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { counted } from "@/parts/format";
import { Figure } from "@/parts/Page";
import { useMay } from "@/session/session";
import { useInAddress } from "@/parts/useInAddress";
import css from "./Map.module.css";
import { MachineDialog } from "./MachineDialog";
import { PoolCard } from "./PoolCard";
import { poolsQuery, runningQuery, waitingQuery, workersQuery, type Pool, type QueueEntry, type Worker } from "./data";
import { coloursOf, heldBy } from "./slots";

const NO_ENTRIES: readonly QueueEntry[] = [];

/** Pools with their machines and slots, coloured by the experiment that uses the slot. */
export function MapTab() {
  const maySeeWork = useMay()("experiment.read");
  const pools = useQuery(poolsQuery);
  const workers = useQuery(workersQuery);
  const running = useQuery({ ...runningQuery, enabled: maySeeWork });
  const waiting = useQuery({ ...waitingQuery, enabled: maySeeWork });
  const [opened, setOpened] = useInAddress("opened");
  const before = useRef<Map<number, number>>(new Map());
  const entries = running.data?.items ?? NO_ENTRIES;
  const slotUse = useMemo(() => heldBy(entries), [entries]);
  const colours = useMemo(() => (before.current = coloursOf(entries, before.current)), [entries]);
  const trouble = pools.error ?? workers.error ?? running.error;
  if (trouble) return <Trouble error={trouble} retry={() => void Promise.all([pools.refetch(), workers.refetch(), running.refetch()])} />;
  if (pools.data === undefined || workers.data === undefined) return <Loading rows={8} />;
  if (pools.data.items.length === 0) return <Empty icon="cluster" title="No pools yet">A pool is a set of machines with one scheduling policy. Create one with <code>muster pool create</code>, or add a machine to a pool: run <code>muster worker token --pool default</code>, then <code>muster worker join</code> on the machine.</Empty>;
  const selected = workers.data.items.find((worker) => worker.id === opened);
  return (
    <>
      <Totals pools={pools.data.items} workers={workers.data.items} waiting={waiting.data?.items} />
      {colours.size > 0 && <Legend colours={colours} running={entries} hasOthers={hasOthers(workers.data.items, entries)} />}
      <div className={css.pools}>
        {pools.data.items.map((pool) => (
          <PoolCard key={pool.name} pool={pool} workers={workers.data.items.filter((worker) => worker.pool === pool.name)} slotUse={slotUse} colours={colours} onOpen={setOpened} />
        ))}
      </div>
      {workers.data.isCut && <p className="muted">Only the first {counted(workers.data.items.length, "machine")} are selected.</p>}
      {selected && <MachineDialog worker={selected} slotUse={slotUse.get(selected.id)} colours={colours} onClose={() => setOpened(null)} />}
    </>
  );
}

function hasOthers(workers: readonly Worker[], running: readonly QueueEntry[]): boolean {
  const own = heldBy(running);
  return workers.some((worker) => worker.used_slots > (own.get(worker.id)?.size ?? 0));
}

function Totals({ pools, workers, waiting }: { pools: readonly Pool[]; workers: readonly Worker[]; waiting: readonly QueueEntry[] | undefined }) {
  const slots = pools.reduce((sum, pool) => sum + pool.slots, 0);
  const used = pools.reduce((sum, pool) => sum + pool.used_slots, 0);
  const lost = workers.filter((worker) => worker.state === "lost").length;
  const draining = workers.filter((worker) => worker.state === "draining").length;
  const notReady = [lost > 0 && `${lost} lost`, draining > 0 && `${draining} draining`].filter(Boolean).join(", ");
  return (
    <dl className={css.totals}>
      <Figure label="Slots in use" note={slots ? `${Math.round((100 * used) / slots)} % of all slots` : "no slots yet"}>
        {used} <small>of {slots}</small>
      </Figure>
      <Figure label="Slots requested" note="by waiting trials of all tenants">
        {pools.reduce((sum, pool) => sum + pool.waiting_slots, 0)}
      </Figure>
      {waiting && (
        <Figure label="Your trials waiting" note={waiting.length ? <Link to="/cluster/$tab" params={{ tab: "queue" }} className={css.link}>See why</Link> : "no trials wait"}>
          {waiting.length}
        </Figure>
      )}
      <Figure label="Machines" note={notReady || "all ready"}>
        {workers.length}
      </Figure>
    </dl>
  );
}

interface LegendProps {
  colours: ReadonlyMap<number, number>;
  running: readonly QueueEntry[];
  hasOthers: boolean;
}

function Legend({ colours, running, hasOthers }: LegendProps) {
  return (
    <ul className={css.legend} aria-label="Legend">
      {[...colours].map(([number, colour]) => (
        <li key={number}>
          <span className={css.swatch} data-colour={colour} />
          <Link to="/experiments/$experiment" params={{ experiment: String(number) }}>
            Experiment {number}
          </Link>
          <span className="muted number">{running.filter((entry) => entry.experiment_number === number).reduce((sum, entry) => sum + entry.slots, 0)}</span>
        </li>
      ))}
      {hasOthers && (
        <li>
          <span className={`${css.swatch} ${css.other}`} />
          Other tenants, or being released
        </li>
      )}
      <li>
        <span className={`${css.swatch} ${css.free}`} />
        Free
      </li>
    </ul>
  );
}
