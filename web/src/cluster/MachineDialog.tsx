import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { toastProblem } from "@/parts/Toast";
import { useMay } from "@/session/session";
import { Draining } from "./Draining";
import { Slot, describe } from "./MachineTile";
import css from "./Map.module.css";
import type { QueueEntry, Worker } from "./data";
import { cellsOf, isolationOf, type Cell } from "./slots";

interface MachineDialogProps {
  worker: Worker;
  slotUse: ReadonlyMap<number, readonly QueueEntry[]> | undefined;
  colours: ReadonlyMap<number, number>;
  onClose: () => void;
}

/** One worker: its state, the trials on its slots, and actions to drain it or disable a slot. */
export function MachineDialog({ worker, slotUse, colours, onClose }: MachineDialogProps) {
  const mayManage = useMay()("cluster.manage");
  return (
    <Dialog title={worker.id} onClose={onClose} footer={mayManage && <Draining worker={worker} />}>
      <dl className={css.facts}>
        <dt>State</dt>
        <dd>
          <State state={worker.state} />
        </dd>
        {worker.trouble && (
          <>
            <dt>Problem</dt>
            <dd>{worker.trouble}</dd>
          </>
        )}
        <dt>Pool</dt>
        <dd>{worker.pool}</dd>
        <dt>Last heartbeat</dt>
        <dd>
          <Time at={worker.last_heartbeat_at} />
        </dd>
        <dt>Isolation</dt>
        <dd>{isolationOf(worker)}</dd>
        {worker.machine && (
          <>
            <dt>Host</dt>
            <dd>
              <code>{worker.machine}</code>
            </dd>
          </>
        )}
        {Object.keys(worker.labels ?? {}).length > 0 && (
          <>
            <dt>Labels</dt>
            <dd className={css.tags}>
              {Object.entries(worker.labels ?? {}).map(([key, value]) => (
                <code key={key}>
                  {key}={value}
                </code>
              ))}
            </dd>
          </>
        )}
      </dl>
      <ul className={css.slotRows} aria-label="Slots">
        {cellsOf(worker, slotUse).map((cell) => (
          <li key={cell.slot}>
            <Slot cell={cell} colours={colours} />
            <span>{describe(cell)}</span>
            {mayManage && <SlotSwitch worker={worker.id} cell={cell} />}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function SlotSwitch({ worker, cell }: { worker: string; cell: Cell }) {
  const client = useQueryClient();
  const toggle = useMutation({
    mutationFn: () => {
      const request = { params: { path: { worker } }, body: { slot: cell.slot } };
      return ask(cell.isDisabled ? api.POST("/v1/workers/{worker}/slots/enable", request) : api.POST("/v1/workers/{worker}/slots/disable", request));
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["cluster", "queue"] }),
    onError: toastProblem,
  });
  return (
    <Button small kind="quiet" busy={toggle.isPending} onClick={() => toggle.mutate()}>
      {cell.isDisabled ? "Enable" : "Disable"}
    </Button>
  );
}
