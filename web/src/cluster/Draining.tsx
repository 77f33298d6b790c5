import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { Button } from "@/parts/Button";
import { counted } from "@/parts/format";
import { Complaint } from "@/parts/Notes";
import { toast } from "@/parts/Toast";
import type { Worker } from "./data";

type Order = "drain" | "reclaim" | "undrain";

/** Drains or undrains a worker; says first how many slots are in use. */
export function Draining({ worker }: { worker: Worker }) {
  const client = useQueryClient();
  const [isConfirming, setConfirming] = useState(false);
  const order = useMutation({
    mutationFn: (what: Order) => {
      const path = { params: { path: { worker: worker.id } } };
      if (what === "undrain") return ask(api.POST("/v1/workers/{worker}/undrain", path));
      return ask(api.POST("/v1/workers/{worker}/drain", { ...path, body: { reclaim: what === "reclaim" } }));
    },
    onSuccess: (_, what) => {
      setConfirming(false);
      toast(what === "undrain" ? `${worker.id} accepts work again` : `Draining ${worker.id}`);
      return client.invalidateQueries({ queryKey: ["cluster", "queue"] });
    },
  });
  if (worker.state === "draining") {
    return (
      <>
        {order.error && <Complaint error={order.error} />}
        <Button icon="play" busy={order.isPending} onClick={() => order.mutate("undrain")}>
          Undrain
        </Button>
      </>
    );
  }
  if (!isConfirming) {
    return (
      <Button kind="danger" icon="stop" onClick={() => setConfirming(true)}>
        Drain
      </Button>
    );
  }
  return (
    <>
      {order.error ? <Complaint error={order.error} /> : <span className="muted">{worker.used_slots > 0 ? `${counted(worker.used_slots, "slot")} in use.` : "No slots in use."}</span>}
      <Button busy={order.isPending && order.variables === "drain"} onClick={() => order.mutate("drain")}>
        {worker.used_slots > 0 ? "Wait for its runs" : "Drain"}
      </Button>
      {worker.used_slots > 0 && (
        <Button kind="danger" busy={order.isPending && order.variables === "reclaim"} onClick={() => order.mutate("reclaim")}>
          Preempt its runs
        </Button>
      )}
    </>
  );
}
