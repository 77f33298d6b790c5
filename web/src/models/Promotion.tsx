import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field, Select } from "@/parts/Field";
import { Complaint } from "@/parts/Notes";
import { toast } from "@/parts/Toast";
import { useMay, useMe } from "@/session/session";
import { MODELS, STAGES_AFTER, type ModelVersion, type Stage } from "./data";

type Action = "stage" | "approve" | "reject";
const DONE: Record<Action, string> = { stage: "Stage change requested", approve: "Stage change approved", reject: "Stage change rejected" };

/** Changes the stage of a version, and approves or rejects requests of other users. The requester cannot approve. */
export function Promotion({ model, version }: { model: string; version: ModelVersion }) {
  const may = useMay();
  const me = useMe();
  const mayDecide = version.pending && may("model.approve") && version.pending.by !== me.name;
  const [act, setAct] = useState<Action | null>(null);
  return (
    <>
      {mayDecide && (
        <>
          <Button onClick={() => setAct("reject")}>Reject</Button>
          <Button kind="primary" icon="check" onClick={() => setAct("approve")}>Approve {version.pending?.stage}</Button>
        </>
      )}
      {!version.pending && may("model.write") && <Button onClick={() => setAct("stage")}>Change stage…</Button>}
      {act && <Deciding model={model} version={version} act={act} onClose={() => setAct(null)} />}
    </>
  );
}

function Deciding({ model, version, act, onClose }: { model: string; version: ModelVersion; act: Action; onClose: () => void }) {
  const client = useQueryClient();
  const stages = STAGES_AFTER[version.stage];
  // The usual next stage: production after staging.
  const [stage, setStage] = useState<Stage>(version.stage === "staging" ? "production" : (stages[0] ?? "none"));
  const [reason, setReason] = useState("");
  const change = useMutation({
    mutationFn: () => {
      const params = { path: { model, version: String(version.number) } };
      if (act === "approve") return ask(api.POST("/v1/models/{model}/versions/{version}/stage/approve", { params, body: { reason } }));
      if (act === "reject") return ask(api.POST("/v1/models/{model}/versions/{version}/stage/reject", { params, body: { reason } }));
      return ask(api.POST("/v1/models/{model}/versions/{version}/stage", { params, body: { stage, reason } }));
    },
    onSuccess: () => {
      toast(DONE[act]);
      void client.invalidateQueries({ queryKey: MODELS });
      onClose();
    },
  });
  const title = act === "stage" ? "Change stage" : `${act === "approve" ? "Approve" : "Reject"} ${version.pending?.stage ?? "the request"}`;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>Cancel</Button>
          <Button kind={act === "reject" ? "danger" : "primary"} busy={change.isPending} onClick={() => change.mutate()}>{title}</Button>
        </>
      }
    >
      {act === "stage" && (
        <p>
          <Select label="Stage" value={stage} onChange={(event) => setStage(event.target.value as Stage)}>
            {stages.map((one) => (
              <option key={one} value={one}>{one === "none" ? "no stage" : one}</option>
            ))}
          </Select>
        </p>
      )}
      <Field label="Reason" value={reason} maxLength={1000} data-first onChange={(event) => setReason(event.target.value)} hint="Stored in the version's stage history." />
      {change.error && <Complaint error={change.error} />}
    </Dialog>
  );
}
