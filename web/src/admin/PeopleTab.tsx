import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field, Select } from "@/parts/Field";
import { Listed } from "@/parts/Listed";
import { Complaint } from "@/parts/Notes";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { toast } from "@/parts/Toast";
import { useMay } from "@/session/session";
import css from "./Admin.module.css";
import { bindingsQuery, usersQuery, type User } from "./data";

/** People and programs of the tenant, with what they were given. */
export function PeopleTab() {
  const may = useMay();
  const users = useQuery(usersQuery);
  const bindings = useQuery({ ...bindingsQuery, enabled: may("access.read") });
  const [isNew, setNew] = useState(false);
  const [turned, setTurned] = useState<User | null>(null);
  const mayManage = may("access.manage");
  const rolesOf = (user: User) =>
    bindings.data?.items.filter((one) => one.user === user.name).map((one) => (one.workspace ? `${one.role} in ${one.workspace}` : one.role)).join(", ") || "none of its own";
  return (
    <>
      {mayManage && (
        <div className={css.tools}>
          <span />
          <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Add</Button>
        </div>
      )}
      <Listed
        asked={users}
        items={users.data?.items}
        idOf={(one) => one.id}
        empty="Nobody is here yet: tokens act by themselves"
        onOpen={mayManage ? setTurned : undefined}
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
      {turned && <Turn user={turned} onClose={() => setTurned(null)} />}
    </>
  );
}

function NewUser({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [kind, setKind] = useState<User["kind"]>("person");
  const add = useMutation({
    mutationFn: () => ask(api.POST("/v1/users", { body: { name, kind, display_name: "" } })),
    onSuccess: () => {
      toast(`${name} was added, and may do nothing until it is given a role`);
      void client.invalidateQueries({ queryKey: keys.admin("users").slice(0, 2) });
      onClose();
    },
  });
  return (
    <Dialog title="Add a person or a program" onClose={onClose} footer={<Button kind="primary" busy={add.isPending} disabled={!name} onClick={() => add.mutate()}>Add</Button>}>
      <div className={css.form}>
        <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} />
        <Select label="Kind" value={kind} onChange={(event) => setKind(event.target.value as User["kind"])}>
          <option value="person">person</option>
          <option value="service_account">program</option>
        </Select>
        {add.error && <Complaint error={add.error} />}
      </div>
    </Dialog>
  );
}

function Turn({ user, onClose }: { user: User; onClose: () => void }) {
  const client = useQueryClient();
  const isOff = Boolean(user.disabled_at);
  const turn = useMutation({
    mutationFn: () => ask(api.PATCH("/v1/users/{user}", { params: { path: { user: user.name } }, body: { disabled: !isOff, display_name: null } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.admin("users").slice(0, 2) });
      onClose();
    },
  });
  return (
    <Dialog title={user.name} onClose={onClose} footer={<Button kind={isOff ? "primary" : "danger"} busy={turn.isPending} onClick={() => turn.mutate()}>{isOff ? "Let in again" : "End its access"}</Button>}>
      <p>{isOff ? "None of its tokens and sessions counts now." : "Its tokens and sessions end within seconds, and what it made stays."}</p>
      {turn.error && <Complaint error={turn.error} />}
    </Dialog>
  );
}
