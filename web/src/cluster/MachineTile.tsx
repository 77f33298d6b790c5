import { useNavigate } from "@tanstack/react-router";
import { Icon } from "@/parts/Icon";
import css from "./Map.module.css";
import type { QueueEntry, Worker } from "./data";
import { cellsOf, type Cell } from "./slots";

interface MachineTileProps {
  worker: Worker;
  held: ReadonlyMap<number, readonly QueueEntry[]> | undefined;
  colours: ReadonlyMap<number, number>;
  onOpen: () => void;
}

/** A machine with its slots; a slot leads to the trial that has it. */
export function MachineTile({ worker, held, colours, onOpen }: MachineTileProps) {
  const isOdd = worker.state !== "ready" || Boolean(worker.trouble);
  return (
    <li className={css.machine} data-state={worker.state} style={{ "--across": acrossOf(worker.slots) } as React.CSSProperties}>
      <button type="button" className={css.machineHead} onClick={onOpen} title={`${worker.id}: look closer`}>
        <span className={css.machineName}>{worker.id}</span>
        {isOdd ? (
          <span className={css.odd}>
            <Icon name="warning" size={12} />
            {worker.state === "ready" ? "trouble" : worker.state}
          </span>
        ) : (
          <span className="muted number">
            {worker.used_slots}/{worker.slots}
          </span>
        )}
      </button>
      <div className={css.slots}>
        {cellsOf(worker, held).map((cell) => (
          <Slot key={cell.slot} cell={cell} colours={colours} />
        ))}
        {worker.slots === 0 && <span className="muted">no slots</span>}
      </div>
    </li>
  );
}

/** Eights side by side, as machines have them; smaller machines in one row. */
function acrossOf(slots: number): number {
  return slots <= 8 ? Math.max(slots, 1) : slots <= 64 ? 8 : 16;
}

/** What a slot does, in words. */
export function saidOf(cell: Cell): string {
  const off = cell.isDisabled ? ", takes no more work" : "";
  if (cell.kind === "own") return `slot ${cell.slot}: ${cell.owners.map((one) => `trial ${one.experiment_number}.${one.trial_number}`).join(", ")}${off}`;
  if (cell.kind === "other") return `slot ${cell.slot}: somebody else's, or ending${off}`;
  return cell.kind === "off" ? `slot ${cell.slot}: takes no work` : `slot ${cell.slot}: free`;
}

export function Slot({ cell, colours }: { cell: Cell; colours: ReadonlyMap<number, number> }) {
  const navigate = useNavigate();
  const owner = cell.owners[0];
  const said = saidOf(cell);
  if (owner === undefined) return <span className={`${css.slot} ${css[cell.kind]}`} title={said} role="img" aria-label={said} />;
  return (
    <button
      type="button"
      className={css.slot}
      data-colour={colours.get(owner.experiment_number)}
      data-off={cell.isDisabled || undefined}
      title={said}
      aria-label={`${said}: go to it`}
      onClick={() => void navigate({ to: "/trials/$trial", params: { trial: owner.trial } })}
    >
      {cell.owners.length > 1 && cell.owners.length}
    </button>
  );
}
