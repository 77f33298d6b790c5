import { useNavigate } from "@tanstack/react-router";
import { Icon } from "@/parts/Icon";
import css from "./Map.module.css";
import type { QueueEntry, Worker } from "./data";
import { cellsOf, type Cell } from "./slots";

interface MachineTileProps {
  worker: Worker;
  slotUse: ReadonlyMap<number, readonly QueueEntry[]> | undefined;
  colours: ReadonlyMap<number, number>;
  onOpen: () => void;
}

/** A machine with its slots. A slot links to the trial that uses it. */
export function MachineTile({ worker, slotUse, colours, onOpen }: MachineTileProps) {
  const hasProblem = worker.state !== "ready" || Boolean(worker.trouble);
  return (
    <li className={css.machine} data-state={worker.state} style={{ "--across": acrossOf(worker.slots) } as React.CSSProperties}>
      <button type="button" className={css.machineHead} onClick={onOpen} title={`${worker.id}: show details`}>
        <span className={css.machineName}>{worker.id}</span>
        {hasProblem ? (
          <span className={css.odd}>
            <Icon name="warning" size={12} />
            {worker.state === "ready" ? "problem" : worker.state}
          </span>
        ) : (
          <span className="muted number">
            {worker.used_slots}/{worker.slots}
          </span>
        )}
      </button>
      <div className={css.slots}>
        {cellsOf(worker, slotUse).map((cell) => (
          <Slot key={cell.slot} cell={cell} colours={colours} />
        ))}
        {worker.slots === 0 && <span className="muted">no slots</span>}
      </div>
    </li>
  );
}

/** Returns the number of columns: 8, as most machines have multiples of 8 slots; fewer for smaller machines. */
function acrossOf(slots: number): number {
  return slots <= 8 ? Math.max(slots, 1) : slots <= 64 ? 8 : 16;
}

/** Describes a slot and its use. */
export function describe(cell: Cell): string {
  const off = cell.isDisabled ? ", disabled for new work" : "";
  if (cell.kind === "own") return `slot ${cell.slot}: ${cell.owners.map((one) => `trial ${one.experiment_number}.${one.trial_number}`).join(", ")}${off}`;
  if (cell.kind === "other") return `slot ${cell.slot}: used by another tenant, or being released${off}`;
  return cell.kind === "off" ? `slot ${cell.slot}: disabled` : `slot ${cell.slot}: free`;
}

export function Slot({ cell, colours }: { cell: Cell; colours: ReadonlyMap<number, number> }) {
  const navigate = useNavigate();
  const owner = cell.owners[0];
  const description = describe(cell);
  if (owner === undefined) return <span className={`${css.slot} ${css[cell.kind]}`} title={description} role="img" aria-label={description} />;
  return (
    <button
      type="button"
      className={css.slot}
      data-colour={colours.get(owner.experiment_number)}
      data-off={cell.isDisabled || undefined}
      title={description}
      aria-label={`${description}, open the trial`}
      onClick={() => void navigate({ to: "/trials/$trial", params: { trial: owner.trial } })}
    >
      {cell.owners.length > 1 && cell.owners.length}
    </button>
  );
}
