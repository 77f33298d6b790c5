import { useState } from "react";
import type { Me } from "@/api/types";
import { Mark } from "@/parts/Mark";
import { Button } from "@/parts/Button";
import { Complaint } from "@/parts/Notes";
import css from "./SignIn.module.css";
import { signInByLink } from "./ways";

interface SignInLinkProps {
  code: string;
  /** The user who is signed in already. */
  me: Me | undefined;
  /** Called if the user does not use the link. */
  onLeave: () => void;
}

/** Asks before a sign-in link is used, so that opening a link of an attacker cannot sign this browser in or replace its session. */
export function SignInLink({ code, me, onLeave }: SignInLinkProps) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const enter = async () => {
    setBusy(true);
    setError(null);
    try {
      await signInByLink(code);
      // Reload, so that no data of an earlier session remains.
      location.replace(location.pathname + location.search);
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <main className={css.page}>
      <div className={css.card}>
        <div className={css.brand}>
          <Mark size={40} />
          <h1>Sign in with this link</h1>
          {me ? (
            <p>
              You are signed in as <b>{me.name}</b> (tenant {me.tenant_name}). This link replaces that session in this browser.
            </p>
          ) : (
            <p className="muted">Use a sign-in link only if you or your administrator made it. It works once.</p>
          )}
        </div>
        {error !== null && <Complaint error={error} />}
        <Button kind="primary" autoFocus={!me} busy={isBusy} onClick={() => void enter()}>
          {me ? "Replace the session" : "Sign in"}
        </Button>
        <Button disabled={isBusy} onClick={onLeave}>
          {me ? `Stay signed in as ${me.name}` : "Sign in another way"}
        </Button>
      </div>
    </main>
  );
}
