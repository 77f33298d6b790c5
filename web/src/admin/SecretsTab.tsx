import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Select } from "@/parts/Field";
import { QueryTable } from "@/parts/QueryTable";
import { Time } from "@/parts/Time";
import { useInAddress } from "@/parts/useInAddress";
import { ADMIN, secretsQuery, workspacesQuery, type Secret } from "./data";
import { SecretDialog } from "./SecretDialog";
import { Tools } from "./Tools";

/** The secrets of one workspace: set and delete. Values are never shown. */
export function SecretsTab() {
  const workspaces = useQuery(workspacesQuery);
  const [chosen, setChosen] = useInAddress("workspace");
  const known = [...new Set([...(workspaces.data?.items ?? []).map((one) => one.value ?? ""), chosen ?? ""])].filter((one) => one !== "").sort();
  const workspace = chosen ?? known[0] ?? "";
  const secrets = useQuery(secretsQuery(workspace));
  const [edited, setEdited] = useState<Secret | "new" | null>(null);
  const [deleted, setDeleted] = useState<Secret | null>(null);
  return (
    <>
      <Tools>
        {known.length > 0 && (
          <Select label="Workspace" value={workspace} onChange={(event) => setChosen(event.target.value)}>
            {known.map((one) => <option key={one}>{one}</option>)}
          </Select>
        )}
        <Button kind="primary" icon="plus" onClick={() => setEdited("new")}>Set secret</Button>
      </Tools>
      <QueryTable
        query={workspace === "" ? workspaces : secrets}
        items={workspace === "" ? (workspaces.data && []) : secrets.data?.items}
        idOf={(one) => one.name}
        empty={workspace === "" ? "No secrets yet" : `No secrets in ${workspace} yet`}
        emptyText="Runs get a secret as an environment variable or a file if their config names it in environment.secrets."
        emptyAction={<Button kind="primary" icon="plus" onClick={() => setEdited("new")}>Set secret</Button>}
        onOpen={setEdited}
        columns={[
          { header: "Name", cell: (one) => <b>{one.name}</b> },
          { header: "Set", cell: (one) => <><Time at={one.changed_at} /> by {one.by}</> },
        ]}
      />
      {edited && (
        <SecretDialog
          workspace={workspace}
          secret={edited === "new" ? null : edited}
          onSaved={setChosen}
          onDelete={(one) => {
            setEdited(null);
            setDeleted(one);
          }}
          onClose={() => setEdited(null)}
        />
      )}
      {deleted && (
        <ActDialog
          title={`Delete secret ${deleted.name}`}
          verb="Delete"
          kind="danger"
          act={() => ask(api.DELETE("/v1/workspaces/{workspace}/secrets/{secret}", { params: { path: { workspace: deleted.workspace, secret: deleted.name } } }))}
          stale={ADMIN}
          done={`Secret ${deleted.name} deleted`}
          onClose={() => setDeleted(null)}
        >
          <p>Runs that reference {deleted.name} and start afterwards fail. Running ones keep their value.</p>
        </ActDialog>
      )}
    </>
  );
}
