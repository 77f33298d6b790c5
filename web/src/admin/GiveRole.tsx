import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Choice, Field } from "@/parts/Field";
import { ADMIN, groupsQuery, rolesQuery, usersQuery } from "./data";

/** Gives a person, program or group a role, on the tenant, a workspace, or a project of one. */
export function GiveRole({ onClose }: { onClose: () => void }) {
  const roles = useQuery(rolesQuery);
  const users = useQuery(usersQuery);
  const groups = useQuery(groupsQuery);
  const [whom, setWhom] = useState("");
  const [role, setRole] = useState("viewer");
  const [workspace, setWorkspace] = useState("");
  const [project, setProject] = useState("");
  const [kind, name] = [whom.slice(0, whom.indexOf(":")), whom.slice(whom.indexOf(":") + 1)];
  const body = {
    role,
    user: kind === "user" ? name : null,
    group: kind === "group" ? name : null,
    workspace: workspace.trim() || null,
    project: (workspace.trim() && project.trim()) || null,
  };
  return (
    <ActDialog title="Give a role" verb="Give it" isReady={whom !== ""} act={() => ask(api.POST("/v1/role-bindings", { body }))} stale={ADMIN} said={`${name} has role ${role}`} onClose={onClose}>
      <Choice label="To" data-first value={whom} onChange={(event) => setWhom(event.target.value)}>
        <option value="" disabled>choose…</option>
        <optgroup label="People and programs">{users.data?.items.map((one) => <option key={one.id} value={`user:${one.name}`}>{one.name}</option>)}</optgroup>
        <optgroup label="Groups">{groups.data?.items.map((one) => <option key={one.id} value={`group:${one.name}`}>{one.name}</option>)}</optgroup>
      </Choice>
      <Choice label="Role" value={role} hint={roles.data?.items.find((one) => one.name === role)?.description} onChange={(event) => setRole(event.target.value)}>
        {roles.data?.items.map((one) => <option key={one.name}>{one.name}</option>)}
      </Choice>
      <Field label="Workspace" value={workspace} hint="Empty: on the tenant as a whole." onChange={(event) => setWorkspace(event.target.value)} />
      {workspace.trim() !== "" && <Field label="Project" value={project} hint="Empty: on all of the workspace." onChange={(event) => setProject(event.target.value)} />}
    </ActDialog>
  );
}
