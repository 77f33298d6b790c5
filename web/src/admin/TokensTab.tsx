import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Choice, Field } from "@/parts/Field";
import { QueryTable } from "@/parts/QueryTable";
import { Secret } from "@/parts/Secret";
import { Time } from "@/parts/Time";
import { Tools } from "./Tools";
import { ADMIN, tokensQuery, type Token } from "./data";
import { DAY_S } from "./time";

/** Access tokens. The secret of a new token is shown once. */
export function TokensTab() {
  const tokens = useQuery(tokensQuery);
  const [isNew, setNew] = useState(false);
  const [revoked, setRevoked] = useState<Token | null>(null);
  return (
    <>
      <Tools>
        <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Create token</Button>
      </Tools>
      <QueryTable
        query={tokens}
        items={tokens.data?.items}
        idOf={(one) => one.id}
        empty="No tokens yet"
        emptyText="A token lets a script or the command line use the API. Create tokens of users and service accounts under Users."
        columns={[
          { header: "Name", cell: (one) => <b>{one.name}</b> },
          { header: "Permissions", cell: (one) => (one.user ? `of ${one.user}${one.scope?.length ? `: ${one.scope.join(", ")}` : ""}` : `role ${one.role}`) },
          { header: "Created", cell: (one) => <Time at={one.created_at} /> },
          { header: "Expires", cell: (one) => (one.expires_at ? <Time at={one.expires_at} /> : <span className="muted">never</span>) },
          { header: "", cell: (one) => (one.revoked_at ? <span className="muted">revoked</span> : <Button small kind="danger" onClick={() => setRevoked(one)}>Revoke</Button>), end: true },
        ]}
      />
      {isNew && <NewToken onClose={() => setNew(false)} />}
      {revoked && (
        <ActDialog
          title={`Revoke token ${revoked.name}`}
          verb="Revoke"
          kind="danger"
          act={() => ask(api.DELETE("/v1/tokens/{token}", { params: { path: { token: revoked.id } } }))}
          stale={ADMIN}
          done={`Token ${revoked.name} revoked`}
          onClose={() => setRevoked(null)}
        >
          <p>Requests with this token are refused within seconds. You cannot undo this.</p>
        </ActDialog>
      )}
    </>
  );
}

function NewToken({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Token["role"]>("viewer");
  const [days, setDays] = useState("30");
  return (
    <ActDialog
      title="Create a token"
      verb="Create"
      isReady={name !== "" && Number(days) > 0}
      act={() => ask(api.POST("/v1/tokens", { body: { name, role, ttl_s: Math.round(Number(days) * DAY_S) } }))}
      stale={ADMIN}
      after={(made) => <Secret of={`token ${made.name}`} text={made.secret} />}
      onClose={onClose}
    >
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} hint="This token belongs to no user. Create tokens of users and service accounts under Users." />
      <Choice label="Role" value={role} onChange={(event) => setRole(event.target.value as Token["role"])}>
        {(["viewer", "editor", "admin"] as const).map((one) => <option key={one}>{one}</option>)}
      </Choice>
      <Field label="Expires after (days)" inputMode="numeric" value={days} onChange={(event) => setDays(event.target.value)} />
    </ActDialog>
  );
}
