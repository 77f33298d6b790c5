import { useState } from "react";
import { api, ask } from "@/api/client";
import { ifStill, type Seen } from "@/api/seen";
import { ActDialog } from "@/parts/ActDialog";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field } from "@/parts/Field";
import { Secret } from "@/parts/Secret";
import { LoadForEdit } from "@/parts/LoadForEdit";
import { useMay } from "@/session/session";
import css from "./Admin.module.css";
import { ADMIN, userQuery, type User } from "./data";
import { DAY_S } from "./time";

type Action = "token" | "password" | "disable";

/** Actions for one user or service account: create a token, set a password, disable or enable it. */
export function UserDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const may = useMay();
  const [act, setAct] = useState<Action | null>(null);
  if (act === "token") return <NewUserToken user={user} onClose={onClose} />;
  if (act === "password") return <NewPassword user={user} onClose={onClose} />;
  if (act === "disable") {
    return (
      <LoadForEdit title={user.name} query={userQuery(user.name)} onClose={onClose}>
        {(seen) => <DisableUser seen={seen} onClose={onClose} />}
      </LoadForEdit>
    );
  }
  return (
    <Dialog title={user.name} onClose={onClose}>
      <div className={css.acts}>
        {may("token.manage") && !user.disabled_at && <Button icon="plus" onClick={() => setAct("token")}>Create token</Button>}
        {may("access.manage") && user.kind === "person" && <Button icon="user" onClick={() => setAct("password")}>Set password</Button>}
        {may("access.manage") && (
          <Button kind={user.disabled_at ? "plain" : "danger"} icon={user.disabled_at ? "play" : "stop"} onClick={() => setAct("disable")}>
            {user.disabled_at ? "Enable" : "Disable"}
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
      title={`Create a token for ${user.name}`}
      verb="Create"
      isReady={name !== "" && Number(days) > 0}
      act={() => ask(api.POST("/v1/users/{user}/tokens", { params: { path: { user: user.name } }, body: { name, scope: [], ttl_s: Math.round(Number(days) * DAY_S) } }))}
      stale={ADMIN}
      after={(made) => <Secret of={`token ${made.name}`} text={made.secret} />}
      onClose={onClose}
    >
      <Field label="Name" data-first value={name} onChange={(event) => setName(event.target.value)} hint={`The token has all current and future permissions of ${user.name}.`} />
      <Field label="Expires after (days)" inputMode="numeric" value={days} onChange={(event) => setDays(event.target.value)} />
    </ActDialog>
  );
}

function NewPassword({ user, onClose }: { user: User; onClose: () => void }) {
  const [password, setPassword] = useState("");
  return (
    <ActDialog
      title={`Set a password for ${user.name}`}
      verb="Save"
      isReady={password !== ""}
      act={() => ask(api.PUT("/v1/users/{user}/password", { params: { path: { user: user.name } }, body: { password } }))}
      stale={ADMIN}
      done={`Password of ${user.name} set`}
      onClose={onClose}
    >
      <Field label="Password" type="password" autoComplete="new-password" data-first value={password} onChange={(event) => setPassword(event.target.value)} hint={`All sessions of ${user.name} end. Send the password over a private channel.`} />
    </ActDialog>
  );
}

function DisableUser({ seen, onClose }: { seen: Seen<User>; onClose: () => void }) {
  const user = seen.value;
  const isOff = Boolean(user.disabled_at);
  return (
    <ActDialog
      title={`${isOff ? "Enable" : "Disable"} ${user.name}`}
      verb={isOff ? "Enable" : "Disable"}
      kind={isOff ? "primary" : "danger"}
      act={() => ask(api.PATCH("/v1/users/{user}", { params: { path: { user: user.name }, header: ifStill(seen) }, body: { disabled: !isOff, display_name: null } }))}
      stale={ADMIN}
      onClose={onClose}
    >
      <p>{isOff ? "Tokens and sessions of this user are refused now. Enabling the user lets it sign in again." : "Tokens and sessions of this user are refused within seconds. Its experiments and other data remain."}</p>
    </ActDialog>
  );
}
