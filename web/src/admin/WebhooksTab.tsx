import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/parts/Button";
import { QueryTable } from "@/parts/QueryTable";
import { State } from "@/parts/State";
import { useInAddress } from "@/parts/useInAddress";
import { NewWebhook } from "./NewWebhook";
import { Tools } from "./Tools";
import { WebhookDialog } from "./WebhookDialog";
import { webhooksQuery } from "./data";

/** Webhooks and the state of their deliveries. */
export function WebhooksTab() {
  const webhooks = useQuery(webhooksQuery);
  const [opened, setOpened] = useInAddress("opened");
  const [isNew, setNew] = useState(false);
  const selected = webhooks.data?.items.find((one) => one.id === opened);
  return (
    <>
      <Tools>
        <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Create webhook</Button>
      </Tools>
      <QueryTable
        query={webhooks}
        items={webhooks.data?.items}
        idOf={(one) => one.id}
        empty="No webhooks yet"
        emptyText="A webhook sends events, such as completed experiments, to a URL, Slack or Alertmanager."
        emptyAction={<Button kind="primary" icon="plus" onClick={() => setNew(true)}>Create webhook</Button>}
        onOpen={(one) => setOpened(one.id)}
        columns={[
          { header: "Name", cell: (one) => <b>{one.name}</b> },
          { header: "Receiver", cell: (one) => one.origin },
          { header: "Events", cell: (one) => one.events.join(", ") || "all" },
          { header: "Workspace", cell: (one) => one.workspace ?? "all workspaces" },
          { header: "State", cell: (one) => <State quiet state={one.enabled ? "active" : "paused"} /> },
          { header: "Pending", cell: (one) => one.waiting, end: true },
          { header: "Failed", cell: (one) => one.dead, end: true },
        ]}
      />
      {isNew && <NewWebhook onClose={() => setNew(false)} />}
      {selected && <WebhookDialog webhook={selected} onClose={() => setOpened(null)} />}
    </>
  );
}
