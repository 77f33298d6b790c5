import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Field, TextField } from "@/parts/Field";
import { ADMIN, type Secret } from "./data";

interface SecretDialogProps {
  workspace: string;
  /** Null creates a secret. */
  secret: Secret | null;
  onSaved: (workspace: string) => void;
  onDelete: (secret: Secret) => void;
  onClose: () => void;
}

/** Creates a secret or replaces its value. The value is only sent: it is never fetched, and not kept after the dialog. */
export function SecretDialog({ workspace, secret, onSaved, onDelete, onClose }: SecretDialogProps) {
  const [place, setPlace] = useState(secret?.workspace ?? workspace);
  const [name, setName] = useState(secret?.name ?? "");
  const [value, setValue] = useState("");
  const path = { workspace: place.trim(), secret: name.trim() };
  return (
    <ActDialog
      title={secret ? `Replace the value of ${secret.name}` : "Set a secret"}
      verb="Save"
      isReady={path.workspace !== "" && path.secret !== "" && value !== ""}
      act={async () => {
        const saved = await ask(api.PUT("/v1/workspaces/{workspace}/secrets/{secret}", { params: { path }, body: { secret_value: value } }));
        onSaved(path.workspace);
        return saved;
      }}
      stale={ADMIN}
      done={`Secret ${path.secret} saved. Runs that start from now on get this value.`}
      onClose={onClose}
    >
      {!secret && <Field label="Workspace" value={place} onChange={(event) => setPlace(event.target.value)} />}
      {!secret && <Field label="Name" data-first value={name} placeholder="HF_TOKEN" autoComplete="off" hint="The name of the environment variable." onChange={(event) => setName(event.target.value)} />}
      <TextField label="Value" value={value} autoComplete="off" spellCheck={false} hint="At least 8 characters. Nobody can read it back." onChange={(event) => setValue(event.target.value)} />
      {secret && <Button kind="danger" icon="trash" onClick={() => onDelete(secret)}>Delete…</Button>}
    </ActDialog>
  );
}
