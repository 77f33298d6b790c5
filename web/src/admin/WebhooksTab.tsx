import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/parts/Button";
import { Listed } from "@/parts/Listed";
import { State } from "@/parts/State";
import { useInAddress } from "@/parts/useInAddress";
import { NewWebhook } from "./NewWebhook";
import { Tools } from "./Tools";
import { WebhookDialog } from "./WebhookDialog";
import { webhooksQuery } from "./data";

/** Where events are sent, and what became of each. */
export function WebhooksTab() {
  const webhooks = useQuery(webhooksQuery);
  const [opened, setOpened] = useInAddress("opened");
  const [isNew, setNew] = useState(false);
  const shown = webhooks.data?.items.find((one) => one.id === opened);
  return (
    <>
      <Tools>
        <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Make a webhook</Button>
      </Tools>
      <Listed
        asked={webhooks}
        items={webhooks.data?.items}
        idOf={(one) => one.id}
        empty="Nothing is sent elsewhere"
        onOpen={(one) => setOpened(one.id)}
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
      {isNew && <NewWebhook onClose={() => setNew(false)} />}
      {shown && <WebhookDialog webhook={shown} onClose={() => setOpened(null)} />}
    </>
  );
}
