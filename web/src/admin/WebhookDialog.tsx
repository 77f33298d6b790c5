import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Listed } from "@/parts/Listed";
import { Secret } from "@/parts/Secret";
import { Seeing } from "@/parts/Seeing";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { toast, toastProblem } from "@/parts/Toast";
import { ADMIN, deliveriesQuery, webhookQuery, type Delivery, type Webhook } from "./data";
import { DAY_S } from "./time";

type Act = "turn" | "rotate" | "delete";
const STATES: Record<string, string> = { delivered: "completed", dead: "failed" };

/** What was sent to one address, again where it is wanted; and a rest, another secret or an end for it. */
export function WebhookDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const client = useQueryClient();
  const [act, setAct] = useState<Act | null>(null);
  const deliveries = useQuery(deliveriesQuery(webhook.id));
  const asked = { params: { path: { webhook: webhook.id } } };
  const again = { onSettled: () => client.invalidateQueries({ queryKey: ADMIN }), onError: toastProblem };
  const test = useMutation({ mutationFn: () => ask(api.POST("/v1/webhooks/{webhook}/test", asked)), onSuccess: (sent) => toast(sent.error ?? "the test arrived", Boolean(sent.error)), ...again });
  const replay = useMutation({
    mutationFn: (one: Delivery) => ask(api.POST("/v1/webhooks/{webhook}/deliveries/{delivery}/replay", { params: { path: { webhook: webhook.id, delivery: one.id } } })),
    ...again,
  });
  if (act) return <Changing webhook={webhook} act={act} onClose={onClose} />;
  return (
    <Dialog
      title={`${webhook.name}: deliveries`}
      wide
      onClose={onClose}
      footer={
        <>
          <Button kind="danger" icon="trash" onClick={() => setAct("delete")}>Delete…</Button>
          <Button onClick={() => setAct("rotate")}>New secret…</Button>
          <Button icon={webhook.enabled ? "pause" : "play"} onClick={() => setAct("turn")}>{webhook.enabled ? "Rest…" : "Send again…"}</Button>
          <Button kind="primary" busy={test.isPending} onClick={() => test.mutate()}>Send a test</Button>
        </>
      }
    >
      <Listed
        asked={deliveries}
        items={deliveries.data?.items}
        idOf={(one) => one.id}
        empty="Nothing was sent yet"
        columns={[
          { header: "Event", cell: (one) => <>{one.type}{one.is_test && <span className="muted"> test</span>}</> },
          { header: "State", cell: (one) => <span title={one.state}><State quiet state={STATES[one.state] ?? "waiting"} /></span> },
          { header: "Answer", cell: (one) => one.error ?? one.status ?? <span className="muted">–</span> },
          { header: "Attempts", cell: (one) => one.attempts, end: true },
          { header: "When", cell: (one) => <Time at={one.created_at} /> },
          { header: "", cell: (one) => <Button small kind="quiet" busy={replay.isPending && replay.variables?.id === one.id} onClick={() => replay.mutate(one)}>Send again</Button>, end: true },
        ]}
      />
    </Dialog>
  );
}

const AS_IT_IS = { name: null, url: null, form: null, events: [], labels: [], lifted: [] };

function Changing({ webhook, act, onClose }: { webhook: Webhook; act: Act; onClose: () => void }) {
  const params = { path: { webhook: webhook.id } };
  const common = { stale: ADMIN, onClose };
  if (act === "rotate") {
    return (
      <ActDialog {...common} title={`A new secret for ${webhook.name}`} verb="Make it" act={() => ask(api.POST("/v1/webhooks/{webhook}/secret/rotate", { params, body: { overlap_s: DAY_S } }))} after={(made) => <Secret of={`webhook ${made.name}`} text={made.secret} />}>
        <p>For a day both sign what is sent, so that the receiver can change over.</p>
      </ActDialog>
    );
  }
  if (act === "delete") {
    return (
      <ActDialog {...common} title={`Delete webhook ${webhook.name}`} verb="Delete it" kind="danger" act={() => ask(api.DELETE("/v1/webhooks/{webhook}", { params }))} said={`webhook ${webhook.name} is gone`}>
        <p>Nothing more is sent there, and what was waiting never will be.</p>
      </ActDialog>
    );
  }
  return (
    <Seeing title={webhook.name} query={webhookQuery(webhook.id)} onClose={onClose}>
      {(seen) => {
        const { enabled } = seen.value;
        return (
          <ActDialog {...common} title={webhook.name} verb={enabled ? "Let it rest" : "Send again"} act={() => ask(api.PATCH("/v1/webhooks/{webhook}", { params: { ...params, header: ifStill(seen) }, body: { ...AS_IT_IS, enabled: !enabled } }))}>
            <p>{enabled ? "What happens while it rests is never sent." : "What happens from now on is sent."}</p>
          </ActDialog>
        );
      }}
    </Seeing>
  );
}
