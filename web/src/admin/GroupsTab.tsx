import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Listed } from "@/parts/Listed";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import { useInAddress } from "@/parts/useInAddress";
import { GroupDialog } from "./GroupDialog";
import { Tools } from "./Tools";
import { ADMIN, groupsQuery } from "./data";

/** Groups: what is given to one is given to its members. */
export function GroupsTab() {
  const mayManage = useMay()("access.manage");
  const groups = useQuery(groupsQuery);
  const [isNew, setNew] = useState(false);
  const [opened, setOpened] = useInAddress("opened");
  const shown = groups.data?.items.find((one) => one.id === opened);
  return (
    <>
      {mayManage && (
        <Tools>
          <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Make a group</Button>
        </Tools>
      )}
      <Listed
        asked={groups}
        items={groups.data?.items}
        idOf={(one) => one.id}
        empty="There is no group yet"
        onOpen={(one) => setOpened(one.id)}
        columns={[
          { header: "Name", cell: (one) => <b>{one.name}</b> },
          { header: "For", cell: (one) => one.description || <span className="muted">–</span> },
          { header: "Members", cell: (one) => one.members, end: true },
          { header: "Since", cell: (one) => <Time at={one.created_at} /> },
        ]}
      />
      {isNew && <NewGroup onClose={() => setNew(false)} />}
      {shown && <GroupDialog group={shown} onClose={() => setOpened(null)} />}
    </>
  );
}

function NewGroup({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  return (
    <ActDialog title="Make a group" verb="Make it" isReady={name !== ""} act={() => ask(api.POST("/v1/groups", { body: { name, description } }))} stale={ADMIN} said={`group ${name} is there, without members`} onClose={onClose}>
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} />
      <Field label="What it is for" value={description} onChange={(event) => setDescription(event.target.value)} />
    </ActDialog>
  );
}
