import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { QueryTable } from "@/parts/QueryTable";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import { useInAddress } from "@/parts/useInAddress";
import { GroupDialog } from "./GroupDialog";
import { Tools } from "./Tools";
import { ADMIN, groupsQuery } from "./data";

/** Groups of users. Members have all roles that are assigned to the group. */
export function GroupsTab() {
  const mayManage = useMay()("access.manage");
  const groups = useQuery(groupsQuery);
  const [isNew, setNew] = useState(false);
  const [opened, setOpened] = useInAddress("opened");
  const selected = groups.data?.items.find((one) => one.id === opened);
  return (
    <>
      {mayManage && (
        <Tools>
          <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Create group</Button>
        </Tools>
      )}
      <QueryTable
        query={groups}
        items={groups.data?.items}
        idOf={(one) => one.id}
        empty="No groups yet"
        emptyText="A group assigns roles to several users at once: its members have all of its roles."
        emptyAction={mayManage && <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Create group</Button>}
        onOpen={(one) => setOpened(one.id)}
        columns={[
          { header: "Name", cell: (one) => <b>{one.name}</b> },
          { header: "Description", cell: (one) => one.description || <span className="muted">–</span> },
          { header: "Members", cell: (one) => one.members, end: true },
          { header: "Created", cell: (one) => <Time at={one.created_at} /> },
        ]}
      />
      {isNew && <NewGroup onClose={() => setNew(false)} />}
      {selected && <GroupDialog group={selected} onClose={() => setOpened(null)} />}
    </>
  );
}

function NewGroup({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  return (
    <ActDialog title="Create a group" verb="Create" isReady={name !== ""} act={() => ask(api.POST("/v1/groups", { body: { name, description } }))} stale={ADMIN} done={`Group ${name} created. Add members to it next.`} onClose={onClose}>
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} />
      <Field label="Description" value={description} onChange={(event) => setDescription(event.target.value)} />
    </ActDialog>
  );
}
