import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill, type Seen } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Field } from "@/parts/Field";
import { LoadForEdit } from "@/parts/LoadForEdit";
import { MODELS, seenModelQuery, seenVersionQuery, type Model, type ModelVersion } from "./data";
import { NotesField } from "./NotesField";
import { changedTags } from "./tags";

/** Edits the description, tags and notes of a model. Concurrent changes of other users are not overwritten. */
export function EditModel({ model, onClose }: { model: string; onClose: () => void }) {
  return (
    <LoadForEdit title="Edit the model" query={seenModelQuery(model)} onClose={onClose}>
      {(seen) => <ModelForm seen={seen} onClose={onClose} />}
    </LoadForEdit>
  );
}

/** Edits comment, tags and notes of a version in the same way. */
export function EditVersion({ model, version, onClose }: { model: string; version: string; onClose: () => void }) {
  return (
    <LoadForEdit title="Edit the version" query={seenVersionQuery(model, version)} onClose={onClose}>
      {(seen) => <VersionForm model={model} seen={seen} onClose={onClose} />}
    </LoadForEdit>
  );
}

function ModelForm({ seen, onClose }: { seen: Seen<Model>; onClose: () => void }) {
  const model = seen.value;
  const [description, setDescription] = useState(model.description ?? "");
  const [tags, setTags] = useState((model.tags ?? []).join(", "));
  const [notes, setNotes] = useState(model.notes ?? "");
  const act = () => {
    const body = { description, notes, ...changedTags(model.tags ?? [], tags), metadata: null, approvals: {}, expected_version: null };
    return ask(api.PATCH("/v1/models/{model}", { params: { path: { model: model.id }, header: ifStill(seen) }, body }));
  };
  return (
    <ActDialog title={`Edit ${model.name}`} verb="Save" wide act={act} stale={MODELS} done={`Model ${model.name} saved`} onClose={onClose}>
      <Field label="Description" data-first value={description} onChange={(event) => setDescription(event.target.value)} />
      <Field label="Tags" value={tags} hint="Separated by commas." onChange={(event) => setTags(event.target.value)} />
      <NotesField value={notes} onChange={setNotes} />
    </ActDialog>
  );
}

function VersionForm({ model, seen, onClose }: { model: string; seen: Seen<ModelVersion>; onClose: () => void }) {
  const version = seen.value;
  const [comment, setComment] = useState(version.comment ?? "");
  const [tags, setTags] = useState((version.tags ?? []).join(", "));
  const [notes, setNotes] = useState(version.notes ?? "");
  const act = () => {
    const params = { path: { model, version: String(version.number) }, header: ifStill(seen) };
    return ask(api.PATCH("/v1/models/{model}/versions/{version}", { params, body: { comment, notes, ...changedTags(version.tags ?? [], tags), expected_version: null } }));
  };
  return (
    <ActDialog title={`Edit version ${version.number}`} verb="Save" wide act={act} stale={MODELS} done={`Version ${version.number} saved`} onClose={onClose}>
      <Field label="Comment" data-first value={comment} onChange={(event) => setComment(event.target.value)} />
      <Field label="Tags" value={tags} hint="Separated by commas." onChange={(event) => setTags(event.target.value)} />
      <NotesField value={notes} onChange={setNotes} />
    </ActDialog>
  );
}
