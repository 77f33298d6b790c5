import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { Dialog } from "@/parts/Dialog";
import { Field, Select } from "@/parts/Field";
import { Listed } from "@/parts/Listed";
import { Complaint } from "@/parts/Notes";
import { Time } from "@/parts/Time";
import { toast } from "@/parts/Toast";
import css from "./Admin.module.css";
import { tokensQuery, type Token } from "./data";

/** Access tokens without their secrets; a new one shows its secret once. */
export function TokensTab() {
  const tokens = useQuery(tokensQuery);
  const [isNew, setNew] = useState(false);
  const [ended, setEnded] = useState<Token | null>(null);
  return (
    <>
      <div className={css.tools}>
        <span />
        <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Make a token</Button>
      </div>
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
      {ended && <EndToken token={ended} onClose={() => setEnded(null)} />}
    </>
  );
}

const DAY_S = 86_400;

function NewToken({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Token["role"]>("viewer");
  const [days, setDays] = useState("30");
  const make = useMutation({
    mutationFn: () => ask(api.POST("/v1/tokens", { body: { name, role, ttl_s: Math.round(Number(days) * DAY_S) } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.admin("tokens").slice(0, 2) }),
  });
  if (make.data) {
    return (
      <Dialog title={`Token ${make.data.name}`} onClose={onClose} footer={<Button kind="primary" onClick={onClose}>I have kept it</Button>}>
        <p>This is its secret. It is shown this one time.</p>
        <p className={css.secret}><code>{make.data.secret}</code><Copy text={make.data.secret} label="Copy the secret" /></p>
      </Dialog>
    );
  }
  return (
    <Dialog title="Make a token" onClose={onClose} footer={<Button kind="primary" busy={make.isPending} disabled={!name || !(Number(days) > 0)} onClick={() => make.mutate()}>Make it</Button>}>
      <div className={css.form}>
        <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} hint="What it is for." />
        <Select label="Role" value={role} onChange={(event) => setRole(event.target.value as Token["role"])}>
          {(["viewer", "editor", "admin"] as const).map((one) => <option key={one}>{one}</option>)}
        </Select>
        <Field label="Days until it ends" inputMode="numeric" value={days} onChange={(event) => setDays(event.target.value)} />
        {make.error && <Complaint error={make.error} />}
      </div>
    </Dialog>
  );
}

function EndToken({ token, onClose }: { token: Token; onClose: () => void }) {
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: () => ask(api.DELETE("/v1/tokens/{token}", { params: { path: { token: token.id } } })),
    onSuccess: () => {
      toast(`token ${token.name} has ended`);
      void client.invalidateQueries({ queryKey: keys.admin("tokens").slice(0, 2) });
      onClose();
    },
  });
  return (
    <Dialog title={`End token ${token.name}`} onClose={onClose} footer={<Button kind="danger" busy={end.isPending} onClick={() => end.mutate()}>End it</Button>}>
      <p>Whoever uses it is refused within seconds. It cannot be brought back.</p>
      {end.error && <Complaint error={end.error} />}
    </Dialog>
  );
}
