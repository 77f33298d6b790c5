import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Listed } from "@/parts/Listed";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { toast, toastProblem } from "@/parts/Toast";
import { deliveriesQuery, webhooksQuery, type Delivery, type Webhook } from "./data";

/** Where events are sent, and what became of each. They are made by `muster webhook`, which shows their secret once. */
export function WebhooksTab() {
  const webhooks = useQuery(webhooksQuery);
  const [opened, setOpened] = useState<Webhook | null>(null);
  return (
    <>
      <Listed
        asked={webhooks}
        items={webhooks.data?.items}
        idOf={(one) => one.id}
        empty="Nothing is sent elsewhere: muster webhook create"
        onOpen={setOpened}
        columns={[
          { header: "Name", cell: (one) => <b>{one.name}</b> },
          { header: "To", cell: (one) => one.origin },
          { header: "Events", cell: (one) => one.events.join(", ") || "all" },
          { header: "Of", cell: (one) => one.workspace ?? "the whole tenant" },
          { header: "State", cell: (one) => <State quiet state={one.enabled ? "active" : "paused"} /> },
          { header: "Waiting", cell: (one) => one.waiting, end: true },
          { header: "Given up", cell: (one) => one.dead, end: true },
        ]}
      />
      {opened && <Deliveries webhook={opened} onClose={() => setOpened(null)} />}
    </>
  );
}

const STATES: Record<string, string> = { delivered: "completed", dead: "failed" };

function Deliveries({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const client = useQueryClient();
  const deliveries = useQuery(deliveriesQuery(webhook.id));
  const asked = { params: { path: { webhook: webhook.id } } };
  const again = { onSettled: () => client.invalidateQueries({ queryKey: keys.admin("deliveries").slice(0, 2) }), onError: toastProblem };
  const test = useMutation({ mutationFn: () => ask(api.POST("/v1/webhooks/{webhook}/test", asked)), onSuccess: (sent) => toast(sent.error ?? "the test arrived", Boolean(sent.error)), ...again });
  const replay = useMutation({
    mutationFn: (one: Delivery) => ask(api.POST("/v1/webhooks/{webhook}/deliveries/{delivery}/replay", { params: { path: { webhook: webhook.id, delivery: one.id } } })),
    ...again,
  });
  return (
    <Dialog title={`${webhook.name}: deliveries`} wide onClose={onClose} footer={<Button busy={test.isPending} onClick={() => test.mutate()}>Send a test</Button>}>
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
