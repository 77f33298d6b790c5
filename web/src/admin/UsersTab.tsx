import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Choice, Field } from "@/parts/Field";
import { QueryTable } from "@/parts/QueryTable";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import { useInAddress } from "@/parts/useInAddress";
import { UserDialog } from "./UserDialog";
import { Tools } from "./Tools";
import { ADMIN, bindingsQuery, usersQuery, type User } from "./data";

/** Users and service accounts of the tenant with their roles and groups. */
export function UsersTab() {
  const may = useMay();
  const users = useQuery(usersQuery);
  const bindings = useQuery({ ...bindingsQuery, enabled: may("access.read") });
  const [isNew, setNew] = useState(false);
  const [opened, setOpened] = useInAddress("opened");
  const mayOpen = may("access.manage") || may("token.manage");
  const selected = mayOpen ? users.data?.items.find((one) => one.id === opened) : undefined;
  const rolesOf = (user: User) =>
    bindings.data?.items.filter((one) => one.user === user.name).map((one) => (one.workspace ? `${one.role} in ${one.workspace}` : one.role)).join(", ") || "no direct roles";
  return (
    <>
      {may("access.manage") && (
        <Tools>
          <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Add user</Button>
        </Tools>
      )}
      <QueryTable
        query={users}
        items={users.data?.items}
        idOf={(one) => one.id}
        empty="No users yet"
        emptyText="Add a user for each person who signs in, and a service account for each program. Until then, only tokens without a user have access."
        emptyAction={may("access.manage") && <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Add user</Button>}
        onOpen={mayOpen ? (one) => setOpened(one.id) : undefined}
        columns={[
          { header: "Name", cell: (one) => <><b>{one.name}</b> {one.display_name !== one.name && <span className="muted">{one.display_name}</span>}</> },
          { header: "Kind", cell: (one) => (one.kind === "person" ? "user" : "service account") },
          { header: "Roles", cell: rolesOf },
          { header: "Groups", cell: (one) => one.groups.join(", ") || <span className="muted">–</span> },
          { header: "State", cell: (one) => <State quiet state={one.disabled_at ? "stopped" : "active"} /> },
          { header: "Created", cell: (one) => <Time at={one.created_at} /> },
        ]}
      />
      {isNew && <NewUser onClose={() => setNew(false)} />}
      {selected && <UserDialog user={selected} onClose={() => setOpened(null)} />}
    </>
  );
}

function NewUser({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<User["kind"]>("person");
  return (
    <ActDialog
      title="Add a user or service account"
      verb="Add"
      isReady={name !== ""}
      act={() => ask(api.POST("/v1/users", { body: { name, kind, display_name: "" } }))}
      stale={ADMIN}
      done={`${name} added. Assign a role to grant access.`}
      onClose={onClose}
    >
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} />
      <Choice label="Kind" value={kind} hint="A user signs in to the dashboard; a service account uses tokens." onChange={(event) => setKind(event.target.value as User["kind"])}>
        <option value="person">user</option>
        <option value="service_account">service account</option>
      </Choice>
    </ActDialog>
  );
}
