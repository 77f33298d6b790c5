import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Listed } from "@/parts/Listed";
import { Section } from "@/parts/Page";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import css from "./Admin.module.css";
import { GiveRole } from "./GiveRole";
import { RoleDialog } from "./RoleDialog";
import { ADMIN, bindingsQuery, rolesQuery, type Binding, type Role } from "./data";

/** What roles let do, and who was given which where; giving, taking, and roles of the tenant's own. */
export function RolesTab() {
  const may = useMay();
  const roles = useQuery(rolesQuery);
  const bindings = useQuery(bindingsQuery);
  const [isGiving, setGiving] = useState(false);
  const [taken, setTaken] = useState<Binding | null>(null);
  const [edited, setEdited] = useState<Role | "new" | null>(null);
  const mayGive = may("access.grant");
  return (
    <>
      <Section title="Given" actions={mayGive && <Button kind="primary" icon="plus" onClick={() => setGiving(true)}>Give a role</Button>}>
        <Listed
          asked={bindings}
          items={bindings.data?.items}
          idOf={(one) => one.id}
          empty="Nobody was given a role yet"
          columns={[
            { header: "To", cell: (one) => <b>{whoOf(one)}</b> },
            { header: "Role", cell: (one) => one.role },
            { header: "On", cell: placeOf },
            { header: "By", cell: (one) => one.by },
            { header: "Since", cell: (one) => <Time at={one.created_at} /> },
            ...(mayGive ? [{ header: "", cell: (one: Binding) => <Button small kind="danger" aria-label={`Take ${one.role} from ${whoOf(one)}`} onClick={() => setTaken(one)}>Take</Button>, end: true }] : []),
          ]}
        />
      </Section>
      <Section title="Roles" actions={may("access.manage") && <Button icon="plus" onClick={() => setEdited("new")}>Make a role</Button>}>
        <Listed
          asked={roles}
          items={roles.data?.items}
          idOf={(one) => one.name}
          empty="There is no role"
          columns={[
            { header: "Role", cell: (one) => <b>{one.name}</b> },
            { header: "For", cell: (one) => one.description },
            { header: "May", cell: (one) => <span className={css.permissions}>{one.permissions.filter((name) => name !== "self").map((name) => <code key={name}>{name}</code>)}</span> },
            ...(may("access.manage") ? [{ header: "", cell: (one: Role) => !one.built_in && <Button small aria-label={`Change role ${one.name}`} onClick={() => setEdited(one)}>Change</Button>, end: true }] : []),
          ]}
        />
      </Section>
      {isGiving && <GiveRole onClose={() => setGiving(false)} />}
      {edited && <RoleDialog role={edited === "new" ? null : edited} onClose={() => setEdited(null)} />}
      {taken && (
        <ActDialog
          title={`Take ${taken.role} from ${whoOf(taken)}`}
          verb="Take it"
          kind="danger"
          act={() => ask(api.DELETE("/v1/role-bindings/{binding}", { params: { path: { binding: taken.id } } }))}
          stale={ADMIN}
          said={`${whoOf(taken)} has no longer ${taken.role} on ${placeOf(taken)}`}
          onClose={() => setTaken(null)}
        >
          <p>What it let do on {placeOf(taken)} is refused within seconds. What was made stays.</p>
        </ActDialog>
      )}
    </>
  );
}

function whoOf(one: Binding): string {
  return one.user ?? `group ${one.group ?? ""}`;
}

function placeOf(one: Binding): string {
  return [one.workspace, one.project].filter(Boolean).join(" / ") || "the whole tenant";
}
