import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { QueryTable } from "@/parts/QueryTable";
import { Section } from "@/parts/Page";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import css from "./Admin.module.css";
import { AssignRole } from "./AssignRole";
import { RoleDialog } from "./RoleDialog";
import { ADMIN, bindingsQuery, rolesQuery, type Binding, type Role } from "./data";

/** Role assignments and roles: assign, remove, and define custom roles. */
export function RolesTab() {
  const may = useMay();
  const roles = useQuery(rolesQuery);
  const bindings = useQuery(bindingsQuery);
  const [isAssigning, setAssigning] = useState(false);
  const [removed, setRemoved] = useState<Binding | null>(null);
  const [edited, setEdited] = useState<Role | "new" | null>(null);
  const mayAssign = may("access.grant");
  return (
    <>
      <Section title="Role assignments" actions={mayAssign && <Button kind="primary" icon="plus" onClick={() => setAssigning(true)}>Assign role</Button>}>
        <QueryTable
          query={bindings}
          items={bindings.data?.items}
          idOf={(one) => one.id}
          empty="No roles assigned yet"
          emptyText="Users have no permissions until a role is assigned to them or to one of their groups."
          emptyAction={mayAssign && <Button kind="primary" icon="plus" onClick={() => setAssigning(true)}>Assign role</Button>}
          columns={[
            { header: "User or group", cell: (one) => <b>{subjectOf(one)}</b> },
            { header: "Role", cell: (one) => one.role },
            { header: "Scope", cell: scopeOf },
            { header: "Assigned by", cell: (one) => one.by },
            { header: "Assigned", cell: (one) => <Time at={one.created_at} /> },
            ...(mayAssign ? [{ header: "", cell: (one: Binding) => <Button small kind="danger" aria-label={`Remove ${one.role} from ${subjectOf(one)}`} onClick={() => setRemoved(one)}>Remove</Button>, end: true }] : []),
          ]}
        />
      </Section>
      <Section title="Roles" actions={may("access.manage") && <Button icon="plus" onClick={() => setEdited("new")}>Create role</Button>}>
        <QueryTable
          query={roles}
          items={roles.data?.items}
          idOf={(one) => one.name}
          empty="No roles"
          columns={[
            { header: "Role", cell: (one) => <b>{one.name}</b> },
            { header: "Description", cell: (one) => one.description },
            { header: "Permissions", cell: (one) => <span className={css.permissions}>{one.permissions.filter((name) => name !== "self").map((name) => <code key={name}>{name}</code>)}</span> },
            ...(may("access.manage") ? [{ header: "", cell: (one: Role) => !one.built_in && <Button small aria-label={`Change role ${one.name}`} onClick={() => setEdited(one)}>Change</Button>, end: true }] : []),
          ]}
        />
      </Section>
      {isAssigning && <AssignRole onClose={() => setAssigning(false)} />}
      {edited && <RoleDialog role={edited === "new" ? null : edited} onClose={() => setEdited(null)} />}
      {removed && (
        <ActDialog
          title={`Remove ${removed.role} from ${subjectOf(removed)}`}
          verb="Remove"
          kind="danger"
          act={() => ask(api.DELETE("/v1/role-bindings/{binding}", { params: { path: { binding: removed.id } } }))}
          stale={ADMIN}
          done={`Role ${removed.role} removed from ${subjectOf(removed)} on ${scopeOf(removed)}`}
          onClose={() => setRemoved(null)}
        >
          <p>Its permissions on {scopeOf(removed)} are revoked within seconds. Existing experiments and other data remain.</p>
        </ActDialog>
      )}
    </>
  );
}

function subjectOf(one: Binding): string {
  return one.user ?? `group ${one.group ?? ""}`;
}

function scopeOf(one: Binding): string {
  return [one.workspace, one.project].filter(Boolean).join(" / ") || "the whole tenant";
}
