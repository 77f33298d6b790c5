import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Choice, Field } from "@/parts/Field";
import { ADMIN, groupsQuery, rolesQuery, usersQuery } from "./data";

/** Assigns a role to a user, service account or group: on the tenant, a workspace or a project. */
export function AssignRole({ onClose }: { onClose: () => void }) {
  const roles = useQuery(rolesQuery);
  const users = useQuery(usersQuery);
  const groups = useQuery(groupsQuery);
  const [subject, setSubject] = useState("");
  const [role, setRole] = useState("viewer");
  const [workspace, setWorkspace] = useState("");
  const [project, setProject] = useState("");
  const [kind, name] = [subject.slice(0, subject.indexOf(":")), subject.slice(subject.indexOf(":") + 1)];
  const body = {
    role,
    user: kind === "user" ? name : null,
    group: kind === "group" ? name : null,
    workspace: workspace.trim() || null,
    project: (workspace.trim() && project.trim()) || null,
  };
  return (
    <ActDialog title="Assign a role" verb="Assign" isReady={subject !== ""} act={() => ask(api.POST("/v1/role-bindings", { body }))} stale={ADMIN} done={`Role ${role} assigned to ${name}`} onClose={onClose}>
      <Choice label="User or group" data-first value={subject} onChange={(event) => setSubject(event.target.value)}>
        <option value="" disabled>Choose a user or group…</option>
        <optgroup label="Users and service accounts">{users.data?.items.map((one) => <option key={one.id} value={`user:${one.name}`}>{one.name}</option>)}</optgroup>
        <optgroup label="Groups">{groups.data?.items.map((one) => <option key={one.id} value={`group:${one.name}`}>{one.name}</option>)}</optgroup>
      </Choice>
      <Choice label="Role" value={role} hint={roles.data?.items.find((one) => one.name === role)?.description} onChange={(event) => setRole(event.target.value)}>
        {roles.data?.items.map((one) => <option key={one.name}>{one.name}</option>)}
      </Choice>
      <Field label="Workspace" value={workspace} hint="Leave empty to assign the role on the whole tenant." onChange={(event) => setWorkspace(event.target.value)} />
      {workspace.trim() !== "" && <Field label="Project" value={project} hint="Leave empty to assign the role on the whole workspace." onChange={(event) => setProject(event.target.value)} />}
    </ActDialog>
  );
}
