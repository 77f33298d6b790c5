import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Select } from "@/parts/Field";
import { Listed } from "@/parts/Listed";
import { Seeing } from "@/parts/Seeing";
import { toastProblem } from "@/parts/Toast";
import { useMay } from "@/session/session";
import css from "./Admin.module.css";
import { ADMIN, groupQuery, membersQuery, usersQuery, type Group, type User } from "./data";

/** Who is in a group; who manages access adds and takes members, and deletes it. */
export function GroupDialog({ group, onClose }: { group: Group; onClose: () => void }) {
  const mayManage = useMay()("access.manage");
  const client = useQueryClient();
  const members = useQuery(membersQuery(group.name));
  const users = useQuery({ ...usersQuery, enabled: mayManage });
  const [isGoing, setGoing] = useState(false);
  const change = useMutation({
    mutationFn: ({ user, isIn }: { user: string; isIn: boolean }) => {
      const params = { path: { group: group.name, user } };
      return ask(isIn ? api.PUT("/v1/groups/{group}/members/{user}", { params }) : api.DELETE("/v1/groups/{group}/members/{user}", { params }));
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ADMIN }),
    onError: toastProblem,
  });
  if (isGoing) {
    return (
      <Seeing title={`Delete group ${group.name}`} query={groupQuery(group.name)} onClose={onClose}>
        {(seen) => (
          <ActDialog title={`Delete group ${group.name}`} verb="Delete it" kind="danger" act={() => ask(api.DELETE("/v1/groups/{group}", { params: { path: { group: group.name }, header: ifStill(seen) } }))} stale={ADMIN} said={`group ${group.name} is gone`} onClose={onClose}>
            <p>Its members stay, without the roles that the group was given.</p>
          </ActDialog>
        )}
      </Seeing>
    );
  }
  const others = users.data?.items.filter((one) => !one.groups.includes(group.name)) ?? [];
  return (
    <Dialog title={`Group ${group.name}`} onClose={onClose} footer={mayManage && <Button kind="danger" icon="trash" onClick={() => setGoing(true)}>Delete…</Button>}>
      <div className={css.form}>
        {mayManage && others.length > 0 && (
          <Select label="Add a member" value="" disabled={change.isPending} onChange={(event) => change.mutate({ user: event.target.value, isIn: true })}>
            <option value="" disabled>Add a member…</option>
            {others.map((one) => <option key={one.id} value={one.name}>{one.name}</option>)}
          </Select>
        )}
        <Listed
          asked={members}
          items={members.data?.items}
          idOf={(one) => one.id}
          empty="Nobody is in it yet"
          columns={[
            { header: "Member", cell: (one) => <b>{one.name}</b> },
            ...(mayManage ? [{ header: "", cell: (one: User) => <Button small kind="quiet" aria-label={`Take ${one.name} out`} onClick={() => change.mutate({ user: one.name, isIn: false })}>Take out</Button>, end: true }] : []),
          ]}
        />
      </div>
    </Dialog>
  );
}
