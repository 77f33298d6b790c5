import { useState, type FormEvent } from "react";
import { Mark } from "@/app/Mark";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Complaint } from "@/parts/Notes";
import css from "./SignIn.module.css";
import { beginWithProvider, signInByPassword, signInByToken } from "./ways";

const WAYS = ["Password", "Token", "Provider"] as const;
type Way = (typeof WAYS)[number];
const REMEMBERED = "muster.way";

interface SignInProps {
  /** Asks who is there now. Raises Problem where that is nobody still. */
  onEnter: () => Promise<void>;
  /** A session has ended while the page was open. */
  wasIn: boolean;
  /** What went wrong on the way here. */
  said?: unknown;
}

/** The way in. What is typed goes to the gateway alone, and a password is never kept here. */
export function SignIn({ onEnter, wasIn, said: before = null }: SignInProps) {
  const [way, setWay] = useState<Way>(() => (localStorage.getItem(REMEMBERED) as Way | null) ?? "Password");
  const [error, setError] = useState<unknown>(before);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const said = (name: string) => String(form.get(name) ?? "").trim();
    setBusy(true);
    setError(null);
    try {
      if (way === "Password") await signInByPassword(said("tenant"), said("user"), String(form.get("password")));
      else if (way === "Token") await signInByToken(said("token"));
      else return await beginWithProvider(said("provider"));
      localStorage.setItem(REMEMBERED, way);
      await onEnter();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <main className={css.page}>
      <form className={css.card} onSubmit={(event) => void submit(event)}>
        <div className={css.brand}>
          <Mark size={40} />
          <h1>Sign in to Muster</h1>
          <p className="muted">{wasIn ? "Your session has ended. The page goes on where it was." : "Searches, training and models, in one place."}</p>
        </div>
        <div className={css.ways} role="radiogroup" aria-label="How to sign in">
          {WAYS.map((one) => (
            <button key={one} type="button" role="radio" aria-checked={one === way} onClick={() => setWay(one)}>
              {one}
            </button>
          ))}
        </div>
        {way === "Password" && (
          <>
            <Field label="User" name="user" autoComplete="username" autoCapitalize="off" required autoFocus />
            <Field label="Password" name="password" type="password" autoComplete="current-password" required />
            <Field label="Tenant" name="tenant" defaultValue="default" required />
          </>
        )}
        {way === "Token" && (
          <Field
            label="Token"
            name="token"
            type="password"
            autoComplete="off"
            placeholder="mst_…"
            required
            autoFocus
            hint="Such as secrets/admin-token where the platform was started. The session stands for it; the page does not keep it."
          />
        )}
        {way === "Provider" && (
          <Field label="Provider" name="provider" required autoFocus hint="The name that your site gave it, such as google." />
        )}
        {error !== null && <Complaint error={error} />}
        <Button kind="primary" type="submit" busy={isBusy}>
          {way === "Provider" ? "Continue" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}
