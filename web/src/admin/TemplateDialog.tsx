import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill, type Seen } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field } from "@/parts/Field";
import { LoadForEdit } from "@/parts/LoadForEdit";
import { useMay } from "@/session/session";
import css from "./Admin.module.css";
import { ConfigField } from "./ConfigField";
import { ADMIN, templateQuery, type Template } from "./data";
import { readMapping, textOf, type Mapping } from "./mapping";

/** Shows a template; users with `policy.manage` can edit it. */
export function TemplateDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const mayChange = useMay()("policy.manage");
  return (
    <LoadForEdit title={name} query={templateQuery(name)} onClose={onClose}>
      {(seen) =>
        mayChange ? (
          <EditTemplate seen={seen} onClose={onClose} />
        ) : (
          <Dialog title={name} wide onClose={onClose}>
            <pre className={css.config}>{textOf(seen.value.config)}</pre>
          </Dialog>
        )
      }
    </LoadForEdit>
  );
}

export function NewTemplate({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [workspace, setWorkspace] = useState("");
  const [description, setDescription] = useState("");
  const [text, setText] = useState("");
  const { value, marks } = readMapping(text);
  return (
    <ActDialog
      title="Create a template"
      verb="Create"
      wide
      isReady={name !== "" && isFilled(value)}
      act={() => ask(api.POST("/v1/templates", { body: { name, description, workspace: workspace.trim() || null, config: (value ?? {}) as Template["config"] } }))}
      stale={ADMIN}
      done={`Template ${name} created`}
      onClose={onClose}
    >
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} />
      <Field label="Workspace" value={workspace} hint="Leave empty for the whole tenant." onChange={(event) => setWorkspace(event.target.value)} />
      <Field label="Description" value={description} onChange={(event) => setDescription(event.target.value)} />
      <ConfigField label="Config" text={text} marks={marks} onChange={setText} />
    </ActDialog>
  );
}

function EditTemplate({ seen, onClose }: { seen: Seen<Template>; onClose: () => void }) {
  const template = seen.value;
  const [description, setDescription] = useState(template.description);
  const [text, setText] = useState(() => textOf(template.config));
  const [isDeleting, setDeleting] = useState(false);
  const { value, marks } = readMapping(text);
  const params = { path: { template: template.name }, header: ifStill(seen) };
  if (isDeleting) {
    return (
      <ActDialog title={`Delete template ${template.name}`} verb="Delete" kind="danger" act={() => ask(api.DELETE("/v1/templates/{template}", { params }))} stale={ADMIN} done={`Template ${template.name} deleted`} onClose={onClose}>
        <p>Existing experiments that use it do not change.</p>
      </ActDialog>
    );
  }
  return (
    <ActDialog
      title={`Template ${template.name}`}
      verb="Save"
      wide
      isReady={isFilled(value)}
      act={() => ask(api.PATCH("/v1/templates/{template}", { params, body: { description, config: (value ?? {}) as Template["config"] } }))}
      stale={ADMIN}
      done={`Template ${template.name} saved`}
      onClose={onClose}
    >
      <Field label="Description" value={description} onChange={(event) => setDescription(event.target.value)} />
      <ConfigField label="Config" text={text} marks={marks} onChange={setText} />
      <div className={css.acts}>
        <Button kind="danger" small icon="trash" onClick={() => setDeleting(true)}>Delete this template…</Button>
      </div>
    </ActDialog>
  );
}

function isFilled(value: Mapping | null): boolean {
  return value !== null && Object.keys(value).length > 0;
}
