import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill, type Seen } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { LoadForEdit } from "@/parts/LoadForEdit";
import { Checkboxes } from "@/parts/Checkboxes";
import { useMe } from "@/session/session";
import { ADMIN, roleQuery, type Role } from "./data";

/** Creates, changes or deletes a custom role. It can contain only permissions that the current user has. */
export function RoleDialog({ role, onClose }: { role: Role | null; onClose: () => void }) {
  if (role === null) return <RoleForm seen={null} onClose={onClose} />;
  return (
    <LoadForEdit title={`Role ${role.name}`} query={roleQuery(role.name)} onClose={onClose}>
      {(seen) => <RoleForm seen={seen} onClose={onClose} />}
    </LoadForEdit>
  );
}

function RoleForm({ seen, onClose }: { seen: Seen<Role> | null; onClose: () => void }) {
  const role = seen?.value;
  const { permissions: mine } = useMe();
  const [name, setName] = useState(role?.name ?? "");
  const [description, setDescription] = useState(role?.description ?? "");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set(role?.permissions ?? []));
  const [isDeleting, setDeleting] = useState(false);
  const offered = [...new Set([...mine, ...(role?.permissions ?? [])])].filter((one) => one !== "self").sort();
  const permissions = offered.filter((one) => selected.has(one));
  const act = () => (seen ? ask(api.PATCH("/v1/roles/{role}", { params: { path: { role: seen.value.name }, header: ifStill(seen) }, body: { description, permissions } })) : ask(api.POST("/v1/roles", { body: { name, description, permissions } })));
  if (seen && isDeleting) {
    return (
      <ActDialog title={`Delete role ${name}`} verb="Delete" kind="danger" act={() => ask(api.DELETE("/v1/roles/{role}", { params: { path: { role: name }, header: ifStill(seen) } }))} stale={ADMIN} done={`Role ${name} deleted`} onClose={onClose}>
        <p>Users and groups with this role lose its permissions.</p>
      </ActDialog>
    );
  }
  return (
    <ActDialog title={role ? `Role ${role.name}` : "Create a role"} verb={role ? "Save" : "Create"} isReady={name !== "" && permissions.length > 0} act={act} stale={ADMIN} done={`Role ${name} ${role ? "changed" : "created"}`} onClose={onClose}>
      {!role && <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} />}
      <Field label="Description" value={description} onChange={(event) => setDescription(event.target.value)} />
      <Checkboxes legend="Permissions" mono options={offered.map((one) => ({ id: one, label: one }))} selected={selected} onToggle={(one) => setSelected(toggled(selected, one))} />
      {role && <Button kind="danger" small icon="trash" onClick={() => setDeleting(true)}>Delete this role…</Button>}
    </ActDialog>
  );
}

function toggled(selected: ReadonlySet<string>, one: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(one)) next.add(one);
  return next;
}
