import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { QueryTable } from "@/parts/QueryTable";
import { Secret } from "@/parts/Secret";
import { LoadForEdit } from "@/parts/LoadForEdit";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { toast, toastProblem } from "@/parts/Toast";
import { ADMIN, deliveriesQuery, webhookQuery, type Delivery, type Webhook } from "./data";
import { DAY_S } from "./time";

type Action = "pause" | "rotate" | "delete";
const STATES: Record<string, string> = { delivered: "completed", dead: "failed" };

/** Deliveries of a webhook, with actions to replay, test, pause, rotate the secret and delete. */
export function WebhookDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const client = useQueryClient();
  const [act, setAct] = useState<Action | null>(null);
  const deliveries = useQuery(deliveriesQuery(webhook.id));
  const request = { params: { path: { webhook: webhook.id } } };
  const again = { onSettled: () => client.invalidateQueries({ queryKey: ADMIN }), onError: toastProblem };
  const test = useMutation({ mutationFn: () => ask(api.POST("/v1/webhooks/{webhook}/test", request)), onSuccess: (sent) => toast(sent.error ?? "Test delivered", Boolean(sent.error)), ...again });
  const replay = useMutation({
    mutationFn: (one: Delivery) => ask(api.POST("/v1/webhooks/{webhook}/deliveries/{delivery}/replay", { params: { path: { webhook: webhook.id, delivery: one.id } } })),
    ...again,
  });
  if (act) return <ChangeWebhook webhook={webhook} act={act} onClose={onClose} />;
  return (
    <Dialog
      title={`${webhook.name}: deliveries`}
      wide
      onClose={onClose}
      footer={
        <>
          <Button kind="danger" icon="trash" onClick={() => setAct("delete")}>Delete…</Button>
          <Button onClick={() => setAct("rotate")}>New secret…</Button>
          <Button icon={webhook.enabled ? "pause" : "play"} onClick={() => setAct("pause")}>{webhook.enabled ? "Pause…" : "Resume…"}</Button>
          <Button kind="primary" busy={test.isPending} onClick={() => test.mutate()}>Send a test</Button>
        </>
      }
    >
      <QueryTable
        query={deliveries}
        items={deliveries.data?.items}
        idOf={(one) => one.id}
        empty="No deliveries yet"
        emptyText="Each event that the webhook sends appears here with the response. Send a test to check the receiver."
        columns={[
          { header: "Event", cell: (one) => <>{one.type}{one.is_test && <span className="muted"> test</span>}</> },
          { header: "State", cell: (one) => <span title={one.state}><State quiet state={STATES[one.state] ?? "waiting"} /></span> },
          { header: "Response", cell: (one) => one.error ?? one.status ?? <span className="muted">–</span> },
          { header: "Attempts", cell: (one) => one.attempts, end: true },
          { header: "Time", cell: (one) => <Time at={one.created_at} /> },
          { header: "", cell: (one) => <Button small kind="quiet" busy={replay.isPending && replay.variables?.id === one.id} onClick={() => replay.mutate(one)}>Send again</Button>, end: true },
        ]}
      />
    </Dialog>
  );
}

const AS_IT_IS = { name: null, url: null, form: null, events: [], labels: [], lifted: [] };

function ChangeWebhook({ webhook, act, onClose }: { webhook: Webhook; act: Action; onClose: () => void }) {
  const params = { path: { webhook: webhook.id } };
  const common = { stale: ADMIN, onClose };
  if (act === "rotate") {
    return (
      <ActDialog {...common} title={`Rotate the secret of ${webhook.name}`} verb="Create new secret" act={() => ask(api.POST("/v1/webhooks/{webhook}/secret/rotate", { params, body: { overlap_s: DAY_S } }))} after={(made) => <Secret of={`webhook ${made.name}`} text={made.secret} />}>
        <p>For one day, deliveries are signed with both secrets, so that you can update the receiver.</p>
      </ActDialog>
    );
  }
  if (act === "delete") {
    return (
      <ActDialog {...common} title={`Delete webhook ${webhook.name}`} verb="Delete" kind="danger" act={() => ask(api.DELETE("/v1/webhooks/{webhook}", { params }))} done={`Webhook ${webhook.name} deleted`}>
        <p>Pending deliveries are discarded and no more events are sent.</p>
      </ActDialog>
    );
  }
  return (
    <LoadForEdit title={webhook.name} query={webhookQuery(webhook.id)} onClose={onClose}>
      {(seen) => {
        const { enabled } = seen.value;
        return (
          <ActDialog {...common} title={webhook.name} verb={enabled ? "Pause" : "Resume"} act={() => ask(api.PATCH("/v1/webhooks/{webhook}", { params: { ...params, header: ifStill(seen) }, body: { ...AS_IT_IS, enabled: !enabled } }))}>
            <p>{enabled ? "Events that occur while the webhook is paused are never sent." : "Events from now on are sent. Events that occurred during the pause are not."}</p>
          </ActDialog>
        );
      }}
    </LoadForEdit>
  );
}
