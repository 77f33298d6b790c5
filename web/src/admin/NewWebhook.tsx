import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Choice, Field } from "@/parts/Field";
import { Secret } from "@/parts/Secret";
import { ADMIN, type Webhook } from "./data";

const FORMS: Record<Webhook["form"], string> = { cloudevents: "CloudEvents", slack: "Slack messages", alertmanager: "Alertmanager alerts" };

/** Creates a webhook and shows its signing secret once. */
export function NewWebhook({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [form, setForm] = useState<Webhook["form"]>("cloudevents");
  const [events, setEvents] = useState("");
  const [workspace, setWorkspace] = useState("");
  const body = { name, url, form, events: events.split(/[\s,]+/).filter(Boolean), labels: [], workspace: workspace.trim() || null, project: null };
  return (
    <ActDialog
      title="Create a webhook"
      verb="Create"
      isReady={name !== "" && url !== ""}
      act={() => ask(api.POST("/v1/webhooks", { body }))}
      stale={ADMIN}
      after={(made) => <Secret of={`webhook ${made.name}`} text={made.secret} />}
      onClose={onClose}
    >
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} />
      <Field label="URL" type="url" value={url} placeholder="https://" hint="The URL is not shown again, because it may contain a secret." onChange={(event) => setUrl(event.target.value)} />
      <Choice label="Format" value={form} onChange={(event) => setForm(event.target.value as Webhook["form"])}>
        {Object.entries(FORMS).map(([value, label]) => <option key={value} value={value}>{label}</option>)}
      </Choice>
      <Field label="Events" value={events} placeholder="experiment.completed, trial.failed" hint="Event types, separated by commas. Leave empty for all events." onChange={(event) => setEvents(event.target.value)} />
      <Field label="Workspace" value={workspace} hint="Leave empty for events of the whole tenant." onChange={(event) => setWorkspace(event.target.value)} />
    </ActDialog>
  );
}
