import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { every } from "@/api/every";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import type { Trial } from "@/api/types";
import { ActDialog } from "@/parts/ActDialog";
import { Choice, Field } from "@/parts/Field";
import { experimentQuery } from "@/training/queries";

const NEW = "";

interface RegisterDialogProps {
  trial: Trial;
  checkpoint: { id: string; step: number };
  onClose: () => void;
}

/** Registers a checkpoint as a version of an existing or new model, and opens it. */
export function RegisterDialog({ trial, checkpoint, onClose }: RegisterDialogProps) {
  const navigate = useNavigate();
  const models = useQuery({
    queryKey: keys.models("list"),
    queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/models", { params: { query: { limit: 200, cursor } }, signal }))),
  });
  const experiment = useQuery(experimentQuery(String(trial.experiment_number)));
  const [chosen, setChosen] = useState(NEW);
  const [name, setName] = useState("");
  const [comment, setComment] = useState("");
  // If the version fails after the model was created, the next attempt uses that model.
  const [made, setMade] = useState<string | null>(null);
  const act = async () => {
    const model = chosen || made || (await make(name, experiment.data?.workspace ?? null));
    if (!chosen) setMade(model);
    const version = await ask(api.POST("/v1/models/{model}/versions", { params: { path: { model } }, body: { checkpoint: checkpoint.id, comment, name: "", notes: "", tags: [], metadata: {}, signature: null } }));
    // If registration takes longer than the request waits, the version appears later on the model's page.
    if ("number" in version) void navigate({ to: "/models/$model/$version", params: { model, version: String(version.number) } });
    else void navigate({ to: "/models/$model", params: { model } });
  };
  return (
    <ActDialog
      title={`Register step ${checkpoint.step} of trial ${trial.experiment_number}.${trial.number}`}
      verb="Register"
      isReady={models.data !== undefined && (chosen !== NEW || name.trim() !== "")}
      act={act}
      stale={["models"]}
      done="Version registered"
      onClose={onClose}
    >
      <Choice label="Model" value={chosen} onChange={(event) => setChosen(event.target.value)}>
        <option value={NEW}>A new model</option>
        {models.data?.items.map((model) => (
          <option key={model.id} value={model.id}>
            {model.workspace}/{model.name}
          </option>
        ))}
      </Choice>
      {chosen === NEW && (
        <Field label="Name" data-first value={name} maxLength={100} disabled={made !== null} onChange={(event) => setName(event.target.value)} hint={`Created in workspace ${experiment.data?.workspace ?? "…"}, the workspace of the experiment.`} />
      )}
      <Field label="Comment" value={comment} onChange={(event) => setComment(event.target.value)} hint="Optional. You can edit it later." />
    </ActDialog>
  );
}

async function make(name: string, workspace: string | null): Promise<string> {
  const model = await ask(api.POST("/v1/models", { body: { name: name.trim(), workspace, description: "", notes: "", tags: [], metadata: {}, approvals: {} } }));
  if (!("name" in model)) throw new Problem({ status: 503, code: "still_working", detail: "The model is still being created", hint: "try again in a moment" });
  return model.id;
}
