import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill, type Seen } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Seeing } from "@/parts/Seeing";
import { Ticks } from "@/parts/Ticks";
import { useMe } from "@/session/session";
import { ADMIN, roleQuery, type Role } from "./data";

/** A role of the tenant's own: new, changed for all who have it, or deleted. It holds what who makes it may do. */
export function RoleDialog({ role, onClose }: { role: Role | null; onClose: () => void }) {
  if (role === null) return <RoleForm seen={null} onClose={onClose} />;
  return (
    <Seeing title={`Role ${role.name}`} query={roleQuery(role.name)} onClose={onClose}>
      {(seen) => <RoleForm seen={seen} onClose={onClose} />}
    </Seeing>
  );
}

function RoleForm({ seen, onClose }: { seen: Seen<Role> | null; onClose: () => void }) {
  const role = seen?.value;
  const { permissions: mine } = useMe();
  const [name, setName] = useState(role?.name ?? "");
  const [description, setDescription] = useState(role?.description ?? "");
  const [held, setHeld] = useState<ReadonlySet<string>>(new Set(role?.permissions ?? []));
  const [isGoing, setGoing] = useState(false);
  const offered = [...new Set([...mine, ...(role?.permissions ?? [])])].filter((one) => one !== "self").sort();
  const permissions = offered.filter((one) => held.has(one));
  const act = () => (seen ? ask(api.PATCH("/v1/roles/{role}", { params: { path: { role: seen.value.name }, header: ifStill(seen) }, body: { description, permissions } })) : ask(api.POST("/v1/roles", { body: { name, description, permissions } })));
  if (seen && isGoing) {
    return (
      <ActDialog title={`Delete role ${name}`} verb="Delete it" kind="danger" act={() => ask(api.DELETE("/v1/roles/{role}", { params: { path: { role: name }, header: ifStill(seen) } }))} stale={ADMIN} said={`role ${name} is gone`} onClose={onClose}>
        <p>Whoever was given it may no longer do what it lets do.</p>
      </ActDialog>
    );
  }
  return (
    <ActDialog title={role ? `Role ${role.name}` : "Make a role"} verb={role ? "Change it" : "Make it"} isReady={name !== "" && permissions.length > 0} act={act} stale={ADMIN} said={`role ${name} ${role ? "has changed" : "can be given"}`} onClose={onClose}>
      {!role && <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} />}
      <Field label="What it is for" value={description} onChange={(event) => setDescription(event.target.value)} />
      <Ticks legend="May" mono options={offered.map((one) => ({ id: one, label: one }))} held={held} onTurn={(one) => setHeld(turned(held, one))} />
      {role && <Button kind="danger" small icon="trash" onClick={() => setGoing(true)}>Delete this role…</Button>}
    </ActDialog>
  );
}

function turned(held: ReadonlySet<string>, one: string): ReadonlySet<string> {
  const next = new Set(held);
  if (!next.delete(one)) next.add(one);
  return next;
}
