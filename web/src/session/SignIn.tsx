import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Mark } from "@/parts/Mark";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Complaint } from "@/parts/Notes";
import css from "./SignIn.module.css";
import { beginWithProvider, signInByPassword, signInByToken, waysQuery } from "./ways";

const METHODS = ["Password", "Token", "Provider"] as const;
type Way = (typeof METHODS)[number];
const LAST_METHOD = "muster.way";
const FORM = "";

interface SignInProps {
  /** Loads the signed-in user. Raises Problem if there is none. */
  onEnter: () => Promise<void>;
  /** The session has ended while the page was open. */
  hasExpired: boolean;
  /** Error of an earlier attempt, such as a failed return from a provider. */
  failure?: unknown;
}

/** The sign-in page. Credentials are sent to the gateway only and never stored in the browser. */
export function SignIn({ onEnter, hasExpired, failure = null }: SignInProps) {
  const [chosen, setChosen] = useState<Way>(() => (localStorage.getItem(LAST_METHOD) as Way | null) ?? "Password");
  const [error, setError] = useState<unknown>(failure);
  /** The pending action: the form, or the provider of that name. */
  const [busy, setBusy] = useState<string | null>(null);
  const { data: site } = useQuery(waysQuery);
  const ways: readonly Way[] = site?.passwords === false ? METHODS.filter((one) => one !== "Password") : METHODS;
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
    const field = (name: string) => String(form.get(name) ?? "").trim();
    void go(FORM, async () => {
      if (way === "Provider") return beginWithProvider(field("provider"));
      if (way === "Token") await signInByToken(field("token"));
      else await signInByPassword(field("tenant"), field("user"), String(form.get("password")));
      localStorage.setItem(LAST_METHOD, way);
      await onEnter();
    });
  };
  return (
    <main className={css.page}>
      <form className={css.card} onSubmit={submit}>
        <div className={css.brand}>
          <Mark size={40} />
          <h1>Sign in to Muster</h1>
          <p className="muted">{hasExpired ? "Your session has ended. Sign in to continue where you were." : "Train deep-learning models on shared GPUs."}</p>
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
            hint="Paste an API token; the page does not store it. On the machine that runs the platform, secrets/admin-token holds the first one, or run muster session link and open the link that it prints."
          />
        )}
        {way === "Provider" && (
          <Field label="Provider" name="provider" required autoFocus hint="The provider's name in the site's configuration, such as google." />
        )}
        {error !== null && <Complaint error={error} />}
        <Button kind="primary" type="submit" busy={busy === FORM} disabled={busy !== null}>
          {way === "Provider" ? "Continue" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}
