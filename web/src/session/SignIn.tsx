import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Mark } from "@/parts/Mark";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Complaint } from "@/parts/Notes";
import css from "./SignIn.module.css";
import { beginWithProvider, signInByPassword, signInByToken, waysQuery } from "./ways";

const WAYS = ["Password", "Token", "Provider"] as const;
type Way = (typeof WAYS)[number];
const REMEMBERED = "muster.way";
const FORM = "";

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
  const [chosen, setChosen] = useState<Way>(() => (localStorage.getItem(REMEMBERED) as Way | null) ?? "Password");
  const [error, setError] = useState<unknown>(before);
  /** What is on its way: the form, or the provider of that name. */
  const [busy, setBusy] = useState<string | null>(null);
  const { data: site } = useQuery(waysQuery);
  const ways: readonly Way[] = site?.passwords === false ? WAYS.filter((one) => one !== "Password") : WAYS;
  const way = ways.includes(chosen) ? chosen : (ways[0] ?? "Token");
  const go = async (what: string, act: () => Promise<void>) => {
    setBusy(what);
    setError(null);
    try {
      await act();
    } catch (thrown) {
      setError(thrown);
      setBusy(null);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const said = (name: string) => String(form.get(name) ?? "").trim();
    void go(FORM, async () => {
      if (way === "Provider") return beginWithProvider(said("provider"));
      if (way === "Token") await signInByToken(said("token"));
      else await signInByPassword(said("tenant"), said("user"), String(form.get("password")));
      localStorage.setItem(REMEMBERED, way);
      await onEnter();
    });
  };
  return (
    <main className={css.page}>
      <form className={css.card} onSubmit={submit}>
        <div className={css.brand}>
          <Mark size={40} />
          <h1>Sign in to Muster</h1>
          <p className="muted">{wasIn ? "Your session has ended. The page goes on where it was." : "Searches, training and models, in one place."}</p>
        </div>
        {site && site.providers.length > 0 && (
          <div className={css.providers}>
            {site.providers.map(({ name, label }) => (
              <Button key={name} busy={busy === name} disabled={busy !== null} onClick={() => void go(name, () => beginWithProvider(name))}>
                {`Continue with ${label}`}
              </Button>
            ))}
            <p className="muted">or</p>
          </div>
        )}
        <div className={css.ways} role="radiogroup" aria-label="How to sign in">
          {ways.map((one) => (
            <button key={one} type="button" role="radio" aria-checked={one === way} onClick={() => setChosen(one)}>
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
            hint="Such as secrets/admin-token where the platform was started; or run muster session link there and open what it prints. The page does not keep the token."
          />
        )}
        {way === "Provider" && (
          <Field label="Provider" name="provider" required autoFocus hint="The name by which your site was told of it, such as google." />
        )}
        {error !== null && <Complaint error={error} />}
        <Button kind="primary" type="submit" busy={busy === FORM} disabled={busy !== null}>
          {way === "Provider" ? "Continue" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}
