import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Select } from "@/parts/Field";
import { QueryTable } from "@/parts/QueryTable";
import { LoadForEdit } from "@/parts/LoadForEdit";
import { toastProblem } from "@/parts/Toast";
import { useMay } from "@/session/session";
import css from "./Admin.module.css";
import { ADMIN, groupQuery, membersQuery, usersQuery, type Group, type User } from "./data";

/** Lists the members of a group. Users with `access.manage` can add and remove members and delete the group. */
export function GroupDialog({ group, onClose }: { group: Group; onClose: () => void }) {
  const mayManage = useMay()("access.manage");
  const client = useQueryClient();
  const members = useQuery(membersQuery(group.name));
  const users = useQuery({ ...usersQuery, enabled: mayManage });
  const [isDeleting, setDeleting] = useState(false);
  const change = useMutation({
    mutationFn: ({ user, isIn }: { user: string; isIn: boolean }) => {
      const params = { path: { group: group.name, user } };
      return ask(isIn ? api.PUT("/v1/groups/{group}/members/{user}", { params }) : api.DELETE("/v1/groups/{group}/members/{user}", { params }));
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ADMIN }),
    onError: toastProblem,
  });
  if (isDeleting) {
    return (
      <LoadForEdit title={`Delete group ${group.name}`} query={groupQuery(group.name)} onClose={onClose}>
        {(seen) => (
          <ActDialog title={`Delete group ${group.name}`} verb="Delete" kind="danger" act={() => ask(api.DELETE("/v1/groups/{group}", { params: { path: { group: group.name }, header: ifStill(seen) } }))} stale={ADMIN} done={`Group ${group.name} deleted`} onClose={onClose}>
            <p>Its members remain, but lose the roles that are assigned to the group.</p>
          </ActDialog>
        )}
      </LoadForEdit>
    );
  }
  const others = users.data?.items.filter((one) => !one.groups.includes(group.name)) ?? [];
  return (
    <Dialog title={`Group ${group.name}`} onClose={onClose} footer={mayManage && <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>Delete…</Button>}>
      <div className={css.form}>
        {mayManage && others.length > 0 && (
          <Select label="Add a member" value="" disabled={change.isPending} onChange={(event) => change.mutate({ user: event.target.value, isIn: true })}>
            <option value="" disabled>Add a member…</option>
            {others.map((one) => <option key={one.id} value={one.name}>{one.name}</option>)}
          </Select>
        )}
        <QueryTable
          query={members}
          items={members.data?.items}
          idOf={(one) => one.id}
          empty="No members yet"
          emptyText="Members of a group have all roles that are assigned to it."
          columns={[
            { header: "Member", cell: (one) => <b>{one.name}</b> },
            ...(mayManage ? [{ header: "", cell: (one: User) => <Button small kind="quiet" aria-label={`Remove ${one.name}`} onClick={() => change.mutate({ user: one.name, isIn: false })}>Remove</Button>, end: true }] : []),
          ]}
        />
      </div>
    </Dialog>
  );
}
