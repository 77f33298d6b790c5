/** The ways in. By each of them the browser gets a cookie that no script can read. */
import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";

const COOKIE = { "Muster-Session": "cookie" };
const UNDER_WAY = "muster.sign-in";

interface UnderWay {
  ticket: string;
  state: string;
  back: string;
}

/** What this site tells strangers of its ways in. */
export const waysQuery = queryOptions({
  queryKey: keys.ways,
  queryFn: ({ signal }) => ask(api.GET("/v1/sign-in/ways", { signal })),
  staleTime: Infinity,
});

export async function signInByPassword(tenant: string, user: string, password: string): Promise<void> {
  await ask(api.POST("/v1/sessions", { params: { header: COOKIE }, body: { tenant, user, password } }));
}

/** The session stands for the token, which is not kept. */
export async function signInByToken(token: string): Promise<void> {
  await ask(api.POST("/v1/sign-in/token", { params: { header: COOKIE }, body: { token } }));
}

/** The code of the sign-in link by which the page was opened; null where it was not. */
export const openedCode = takeCode();

/** Calls `found` with the code of each sign-in link that is opened in this tab from now on. */
export function onLink(found: (code: string) => void): () => void {
  const look = () => {
    const code = takeCode();
    if (code !== null) found(code);
  };
  addEventListener("hashchange", look);
  return () => removeEventListener("hashchange", look);
}

/** The address forgets the code at once. */
function takeCode(): string | null {
  const found = /^#sign-in=(.+)$/.exec(location.hash)?.[1] ?? null;
  if (found !== null) history.replaceState(null, "", location.pathname + location.search);
  return found;
}

/** Leaves for the provider; `finishWithProvider` goes on when the browser comes back to `/signed-in`. */
export async function beginWithProvider(provider: string): Promise<void> {
  const redirect = `${location.origin}/signed-in`;
  const begun = await ask(api.GET("/v1/sign-in", { params: { query: { provider, redirect } } }));
  const back = location.pathname + location.search;
  // The ticket is worth nothing without the provider's code: it is kept for this tab until the browser comes back.
  sessionStorage.setItem(UNDER_WAY, JSON.stringify({ ticket: begun.ticket, state: begun.state, back } satisfies UnderWay));
  location.assign(begun.url);
}

/** Ends what was begun, with what the provider sent along. Answers where to go on. */
async function finishWithProvider(brought: URLSearchParams): Promise<string> {
  const kept = sessionStorage.getItem(UNDER_WAY);
  sessionStorage.removeItem(UNDER_WAY);
  const begun = kept === null ? null : (JSON.parse(kept) as UnderWay);
  const code = brought.get("code");
  if (begun === null || begun.state !== brought.get("state") || code === null) {
    const said = brought.get("error_description") ?? brought.get("error");
    throw new Problem({
      status: 400,
      code: "sign_in_lost",
      detail: said ? `the provider refused: ${said}` : "this sign-in was not begun in this tab",
      hint: "begin again",
    });
  }
  const body = { ticket: begun.ticket, state: begun.state, code, iss: brought.get("iss") };
  await ask(api.POST("/v1/sign-in/finish", { params: { header: COOKIE }, body }));
  return begun.back;
}

/** What ends a sign-in that was begun at a provider, and answers where to go on; null where there is none. */
export function arrival(): (() => Promise<string>) | null {
  const isBack = location.pathname === "/signed-in" && sessionStorage.getItem(UNDER_WAY) !== null;
  return isBack ? () => finishWithProvider(new URLSearchParams(location.search)) : null;
}

/** Trades a link's code for a session, which replaces this browser's. The code works once; only the person at the page may cause this. */
export async function signInByLink(code: string): Promise<void> {
  await ask(api.POST("/v1/sign-in/link", { params: { header: COOKIE }, body: { code } }));
}
