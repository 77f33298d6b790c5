/** Sign-in methods. Each sets a session cookie that scripts cannot read. */
import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";

const COOKIE = { "Muster-Session": "cookie" };
const PENDING_SIGN_IN = "muster.sign-in";

interface PendingSignIn {
  ticket: string;
  state: string;
  back: string;
}

/** The sign-in methods that the site offers, readable without authentication. */
export const waysQuery = queryOptions({
  queryKey: keys.ways,
  queryFn: ({ signal }) => ask(api.GET("/v1/sign-in/ways", { signal })),
  staleTime: Infinity,
});

export async function signInByPassword(tenant: string, user: string, password: string): Promise<void> {
  await ask(api.POST("/v1/sessions", { params: { header: COOKIE }, body: { tenant, user, password } }));
}

/** Exchanges the token for a session. The token is not stored. */
export async function signInByToken(token: string): Promise<void> {
  await ask(api.POST("/v1/sign-in/token", { params: { header: COOKIE }, body: { token } }));
}

/** The code of the sign-in link that opened the page, or null. */
export const openedCode = takeCode();

/** Calls `found` with the code of each sign-in link that is opened in this tab later. */
export function onLink(found: (code: string) => void): () => void {
  const check = () => {
    const code = takeCode();
    if (code !== null) found(code);
  };
  addEventListener("hashchange", check);
  return () => removeEventListener("hashchange", check);
}

/** Reads the code and removes it from the URL at once. */
function takeCode(): string | null {
  const found = /^#sign-in=(.+)$/.exec(location.hash)?.[1] ?? null;
  if (found !== null) history.replaceState(null, "", location.pathname + location.search);
  return found;
}

/** Redirects to the provider; `finishWithProvider` continues when the browser returns to `/signed-in`. */
export async function beginWithProvider(provider: string): Promise<void> {
  const redirect = `${location.origin}/signed-in`;
  const pending = await ask(api.GET("/v1/sign-in", { params: { query: { provider, redirect } } }));
  const back = location.pathname + location.search;
  // The ticket is useless without the provider's code, so this tab may store it until the browser returns.
  sessionStorage.setItem(PENDING_SIGN_IN, JSON.stringify({ ticket: pending.ticket, state: pending.state, back } satisfies PendingSignIn));
  location.assign(pending.url);
}

/** Completes a sign-in with the parameters from the provider. Returns the URL to continue at. */
async function finishWithProvider(params: URLSearchParams): Promise<string> {
  const stored = sessionStorage.getItem(PENDING_SIGN_IN);
  sessionStorage.removeItem(PENDING_SIGN_IN);
  const pending = stored === null ? null : (JSON.parse(stored) as PendingSignIn);
  const code = params.get("code");
  if (pending === null || pending.state !== params.get("state") || code === null) {
    const reason = params.get("error_description") ?? params.get("error");
    throw new Problem({
      status: 400,
      code: "sign_in_lost",
      detail: reason ? `The provider refused the sign-in: ${reason}` : "This sign-in was not started in this tab",
      hint: "sign in again",
    });
  }
  const body = { ticket: pending.ticket, state: pending.state, code, iss: params.get("iss") };
  await ask(api.POST("/v1/sign-in/finish", { params: { header: COOKIE }, body }));
  return pending.back;
}

/** Returns a function that completes a pending sign-in with a provider and returns the URL to continue at; null if there is none. */
export function arrival(): (() => Promise<string>) | null {
  const isBack = location.pathname === "/signed-in" && sessionStorage.getItem(PENDING_SIGN_IN) !== null;
  return isBack ? () => finishWithProvider(new URLSearchParams(location.search)) : null;
}

/** Exchanges a link's code for a session, which replaces the current one. The code works once. Call it only after a confirmation. */
export async function signInByLink(code: string): Promise<void> {
  await ask(api.POST("/v1/sign-in/link", { params: { header: COOKIE }, body: { code } }));
}
