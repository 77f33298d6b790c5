import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { counted, formatMoney } from "@/parts/format";
import { Complaint } from "@/parts/Notes";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { toast } from "@/parts/Toast";
import { useMay } from "@/session/session";
import { Draining } from "./Draining";
import css from "./Map.module.css";
import { workersQuery, type Instance, type Worker } from "./data";

const ENDED = new Set(["terminating", "terminated", "failed"]);

/** One rented machine: kind, place, cost, and an action that terminates it. */
export function InstanceDialog({ instance, onClose }: { instance: Instance; onClose: () => void }) {
  const mayManage = useMay()("cluster.manage");
  const workers = useQuery(workersQuery);
  const worker = workers.data?.items.find((one) => one.id === instance.worker);
  const hasEnded = ENDED.has(instance.state);
  return (
    <Dialog title={instance.worker} onClose={onClose} footer={mayManage && !hasEnded && <TerminateActions instance={instance} worker={worker} onDone={onClose} />}>
      <dl className={css.facts}>
        <dt>State</dt>
        <dd>
          <State state={instance.state} /> <Time at={instance.since} />
        </dd>
        {instance.reason && (
          <>
            <dt>Reason</dt>
            <dd>{instance.reason}</dd>
          </>
        )}
        <dt>Kind</dt>
        <dd>
          {instance.kind || "–"} by {instance.driver}, {counted(instance.slots, "slot")}
        </dd>
        <dt>Location</dt>
        <dd>
          pool {instance.pool}
          {instance.zone && `, zone ${instance.zone}`}
        </dd>
        <dt>Purchase</dt>
        <dd>
          {instance.purchase.replace("_", " ")}, {formatMoney(instance.price_per_hour)} per hour, {formatMoney(instance.cost)} so far
        </dd>
        <dt>Launched</dt>
        <dd>
          <Time at={instance.launched_at} />
        </dd>
        {instance.ended_at && (
          <>
            <dt>Ended</dt>
            <dd>
              <Time at={instance.ended_at} />
            </dd>
          </>
        )}
        <dt>ID</dt>
        <dd>
          <code>{instance.id}</code>
        </dd>
      </dl>
    </Dialog>
  );
}

/** Terminating a machine kills its runs, so it needs a confirmation. A machine that has joined can be drained instead. */
function TerminateActions({ instance, worker, onDone }: { instance: Instance; worker: Worker | undefined; onDone: () => void }) {
  const client = useQueryClient();
  const [isConfirming, setConfirming] = useState(false);
  const end = useMutation({
    mutationFn: () => ask(api.POST("/v1/instances/{instance}/terminate", { params: { path: { instance: instance.id } } })),
    onSuccess: () => {
      toast(`Terminating ${instance.worker}`);
      onDone();
      return client.invalidateQueries({ queryKey: ["cluster"] });
    },
  });
  if (isConfirming) {
    return (
      <>
        {end.error ? <Complaint error={end.error} /> : <span className="muted">{lossOf(worker)}</span>}
        <Button kind="quiet" onClick={() => setConfirming(false)}>Cancel</Button>
        <Button kind="danger" busy={end.isPending} onClick={() => end.mutate()}>Terminate now</Button>
      </>
    );
  }
  return (
    <>
      <Button kind="danger" icon="trash" onClick={() => setConfirming(true)}>Terminate…</Button>
      {worker && worker.state !== "lost" && <Draining worker={worker} />}
    </>
  );
}

function lossOf(worker: Worker | undefined): string {
  if (!worker || worker.used_slots === 0) return "No slots in use.";
  return `${counted(worker.used_slots, "slot")} in use. Its runs resume on other machines from their last checkpoint.`;
}
