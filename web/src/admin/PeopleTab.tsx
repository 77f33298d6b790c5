import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Choice, Field } from "@/parts/Field";
import { Listed } from "@/parts/Listed";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import { useInAddress } from "@/parts/useInAddress";
import { PersonDialog } from "./PersonDialog";
import { Tools } from "./Tools";
import { ADMIN, bindingsQuery, usersQuery, type User } from "./data";

/** People and programs of the tenant, with what they were given. */
export function PeopleTab() {
  const may = useMay();
  const users = useQuery(usersQuery);
  const bindings = useQuery({ ...bindingsQuery, enabled: may("access.read") });
  const [isNew, setNew] = useState(false);
  const [opened, setOpened] = useInAddress("opened");
  const mayOpen = may("access.manage") || may("token.manage");
  const shown = mayOpen ? users.data?.items.find((one) => one.id === opened) : undefined;
  const rolesOf = (user: User) =>
    bindings.data?.items.filter((one) => one.user === user.name).map((one) => (one.workspace ? `${one.role} in ${one.workspace}` : one.role)).join(", ") || "none of its own";
  return (
    <>
      {may("access.manage") && (
        <Tools>
          <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Add</Button>
        </Tools>
      )}
      <Listed
        asked={users}
        items={users.data?.items}
        idOf={(one) => one.id}
        empty="Nobody is here yet: tokens act by themselves"
        onOpen={mayOpen ? (one) => setOpened(one.id) : undefined}
        columns={[
          { header: "Name", cell: (one) => <><b>{one.name}</b> {one.display_name !== one.name && <span className="muted">{one.display_name}</span>}</> },
          { header: "Kind", cell: (one) => (one.kind === "person" ? "person" : "program") },
          { header: "Roles", cell: rolesOf },
          { header: "Groups", cell: (one) => one.groups.join(", ") || <span className="muted">–</span> },
          { header: "State", cell: (one) => <State quiet state={one.disabled_at ? "stopped" : "active"} /> },
          { header: "Since", cell: (one) => <Time at={one.created_at} /> },
        ]}
      />
      {isNew && <NewUser onClose={() => setNew(false)} />}
      {shown && <PersonDialog user={shown} onClose={() => setOpened(null)} />}
    </>
  );
}

function NewUser({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<User["kind"]>("person");
  return (
    <ActDialog
      title="Add a person or a program"
      verb="Add"
      isReady={name !== ""}
      act={() => ask(api.POST("/v1/users", { body: { name, kind, display_name: "" } }))}
      stale={ADMIN}
      said={`${name} was added, and may do nothing until it is given a role`}
      onClose={onClose}
    >
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} />
      <Choice label="Kind" value={kind} hint="A person signs in; a program comes with a token." onChange={(event) => setKind(event.target.value as User["kind"])}>
        <option value="person">person</option>
        <option value="service_account">program</option>
      </Choice>
    </ActDialog>
  );
}
