import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Choice, Field } from "@/parts/Field";
import { Listed } from "@/parts/Listed";
import { Secret } from "@/parts/Secret";
import { Time } from "@/parts/Time";
import { Tools } from "./Tools";
import { ADMIN, tokensQuery, type Token } from "./data";
import { DAY_S } from "./time";

/** Access tokens without their secrets; a new one shows its secret once. */
export function TokensTab() {
  const tokens = useQuery(tokensQuery);
  const [isNew, setNew] = useState(false);
  const [ended, setEnded] = useState<Token | null>(null);
  return (
    <>
      <Tools>
        <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Make a token</Button>
      </Tools>
      <Listed
        asked={tokens}
        items={tokens.data?.items}
        idOf={(one) => one.id}
        empty="There is no token"
        columns={[
          { header: "Name", cell: (one) => <b>{one.name}</b> },
          { header: "Does", cell: (one) => (one.user ? `what ${one.user} may${one.scope?.length ? `: ${one.scope.join(", ")}` : ""}` : one.role) },
          { header: "Made", cell: (one) => <Time at={one.created_at} /> },
          { header: "Ends", cell: (one) => (one.expires_at ? <Time at={one.expires_at} /> : <span className="muted">never</span>) },
          { header: "", cell: (one) => (one.revoked_at ? <span className="muted">ended</span> : <Button small kind="danger" onClick={() => setEnded(one)}>End</Button>), end: true },
        ]}
      />
      {isNew && <NewToken onClose={() => setNew(false)} />}
      {ended && (
        <ActDialog
          title={`End token ${ended.name}`}
          verb="End it"
          kind="danger"
          act={() => ask(api.DELETE("/v1/tokens/{token}", { params: { path: { token: ended.id } } }))}
          stale={ADMIN}
          said={`token ${ended.name} has ended`}
          onClose={() => setEnded(null)}
        >
          <p>Whoever uses it is refused within seconds. It cannot be brought back.</p>
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
      title="Make a token"
      verb="Make it"
      isReady={name !== "" && Number(days) > 0}
      act={() => ask(api.POST("/v1/tokens", { body: { name, role, ttl_s: Math.round(Number(days) * DAY_S) } }))}
      stale={ADMIN}
      after={(made) => <Secret of={`token ${made.name}`} text={made.secret} />}
      onClose={onClose}
    >
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} hint="What it is for. It is nobody's: a person's or a program's is made under People." />
      <Choice label="Role" value={role} onChange={(event) => setRole(event.target.value as Token["role"])}>
        {(["viewer", "editor", "admin"] as const).map((one) => <option key={one}>{one}</option>)}
      </Choice>
      <Field label="Days until it ends" inputMode="numeric" value={days} onChange={(event) => setDays(event.target.value)} />
    </ActDialog>
  );
}
