import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill, type Seen } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field } from "@/parts/Field";
import { Secret } from "@/parts/Secret";
import { Seeing } from "@/parts/Seeing";
import { useMay } from "@/session/session";
import css from "./Admin.module.css";
import { ADMIN, userQuery, type User } from "./data";
import { DAY_S } from "./time";

type Act = "token" | "password" | "turn";

/** What can be done for one person or program: a token, a password, an end of its access. */
export function PersonDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const may = useMay();
  const [act, setAct] = useState<Act | null>(null);
  if (act === "token") return <NewUserToken user={user} onClose={onClose} />;
  if (act === "password") return <NewPassword user={user} onClose={onClose} />;
  if (act === "turn") {
    return (
      <Seeing title={user.name} query={userQuery(user.name)} onClose={onClose}>
        {(seen) => <Turn seen={seen} onClose={onClose} />}
      </Seeing>
    );
  }
  return (
    <Dialog title={user.name} onClose={onClose}>
      <div className={css.acts}>
        {may("token.manage") && !user.disabled_at && <Button icon="plus" onClick={() => setAct("token")}>Make it a token</Button>}
        {may("access.manage") && user.kind === "person" && <Button icon="user" onClick={() => setAct("password")}>Set a password</Button>}
        {may("access.manage") && (
          <Button kind={user.disabled_at ? "plain" : "danger"} icon={user.disabled_at ? "play" : "stop"} onClick={() => setAct("turn")}>
            {user.disabled_at ? "Let it in again" : "End its access"}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function NewUserToken({ user, onClose }: { user: User; onClose: () => void }) {
  const [name, setName] = useState("");
  const [days, setDays] = useState("30");
  return (
    <ActDialog
      title={`A token for ${user.name}`}
      verb="Make it"
      isReady={name !== "" && Number(days) > 0}
      act={() => ask(api.POST("/v1/users/{user}/tokens", { params: { path: { user: user.name } }, body: { name, scope: [], ttl_s: Math.round(Number(days) * DAY_S) } }))}
      stale={ADMIN}
      after={(made) => <Secret of={`token ${made.name}`} text={made.secret} />}
      onClose={onClose}
    >
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} hint={`With it one does what ${user.name} may, now and later.`} />
      <Field label="Days until it ends" inputMode="numeric" value={days} onChange={(event) => setDays(event.target.value)} />
    </ActDialog>
  );
}

function NewPassword({ user, onClose }: { user: User; onClose: () => void }) {
  const [password, setPassword] = useState("");
  return (
    <ActDialog
      title={`A password for ${user.name}`}
      verb="Set it"
      isReady={password !== ""}
      act={() => ask(api.PUT("/v1/users/{user}/password", { params: { path: { user: user.name } }, body: { password } }))}
      stale={ADMIN}
      said={`${user.name} signs in with the new password`}
      onClose={onClose}
    >
      <Field label="Password" type="password" autoComplete="new-password" data-first value={password} onChange={(event) => setPassword(event.target.value)} hint={`The sessions of ${user.name} end. Tell it by a way that others do not read.`} />
    </ActDialog>
  );
}

function Turn({ seen, onClose }: { seen: Seen<User>; onClose: () => void }) {
  const user = seen.value;
  const isOff = Boolean(user.disabled_at);
  return (
    <ActDialog
      title={user.name}
      verb={isOff ? "Let it in again" : "End its access"}
      kind={isOff ? "primary" : "danger"}
      act={() => ask(api.PATCH("/v1/users/{user}", { params: { path: { user: user.name }, header: ifStill(seen) }, body: { disabled: !isOff, display_name: null } }))}
      stale={ADMIN}
      onClose={onClose}
    >
      <p>{isOff ? "None of its tokens and sessions counts now." : "Its tokens and sessions end within seconds, and what it made stays."}</p>
    </ActDialog>
  );
}
