import { Icon } from "@/parts/Icon";
import { Card } from "@/parts/Page";
import { counted } from "@/parts/format";
import { MachineTile } from "./MachineTile";
import css from "./Map.module.css";
import type { Pool, QueueEntry, Worker } from "./data";

interface PoolCardProps {
  pool: Pool;
  workers: readonly Worker[];
  slotUse: ReadonlyMap<string, ReadonlyMap<number, readonly QueueEntry[]>>;
  colours: ReadonlyMap<number, number>;
  onOpen: (worker: string) => void;
}

const ORDERS: Record<string, string> = { fifo: "first come, first served", priority: "by priority", fair_share: "by fair share" };

/** One pool: its scheduling policy, its usage and its machines. */
export function PoolCard({ pool, workers, slotUse, colours, onOpen }: PoolCardProps) {
  const rules = [
    ORDERS[pool.rules.order] ?? pool.rules.order,
    pool.rules.preemption && "preempts",
    pool.rules.elastic && "elastic trials use idle slots",
    pool.exclusive && "one tenant per machine at a time",
    pool.rules.trusted && "one trusted tenant only",
  ].filter(Boolean);
  const share = pool.slots ? pool.used_slots / pool.slots : 0;
  return (
    <Card className={css.pool}>
      <header className={css.poolHead}>
        <div>
          <h2>{pool.name}</h2>
          <p className="muted">{rules.join(" · ")}</p>
        </div>
        <div className={css.fullness}>
          <span className="number">
            <b>{pool.used_slots}</b> of {pool.slots}
            {pool.slot_kind && ` ${pool.slot_kind}`} slots
            {pool.waiting_slots > 0 && <span className={css.wanted}>{pool.waiting_slots} requested</span>}
          </span>
          <span className={css.track} role="meter" aria-valuenow={pool.used_slots} aria-valuemin={0} aria-valuemax={pool.slots} aria-label={`Slots of ${pool.name} in use`}>
            <span style={{ width: `${100 * share}%` }} />
          </span>
        </div>
      </header>
      {workers.length === 0 ? (
        <p className={css.bare}>
          <Icon name="cluster" /> No machines now.{pool.max_slots ? ` Up to ${counted(pool.max_slots, "slot")} are rented when trials wait.` : ""}
        </p>
      ) : (
        <ul className={css.machines}>
          {workers.map((worker) => (
            <MachineTile key={worker.id} worker={worker} slotUse={slotUse.get(worker.id)} colours={colours} onOpen={() => onOpen(worker.id)} />
          ))}
        </ul>
      )}
    </Card>
  );
}
