/** The one way to the gateway: typed by its own description of its operations (`npm run gen`). */
import createClient, { type Middleware } from "openapi-fetch";
import { credential } from "@/api/credential";
import { asProblem, lost, problemOf } from "./problem";
import type { paths } from "./schema";

/** Where a session begins: what is refused there ends none. */
const BEGINNINGS = new Set(["/v1/sessions", "/v1/sign-in/token", "/v1/sign-in/link", "/v1/sign-in/finish"]);

/** What besides only answers: its POST changes nothing. */
const CHANGES_NOTHING = new Set([...BEGINNINGS, "/v1/plans"]);

const session: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(credential.headers())) request.headers.set(name, value);
    return request;
  },
  onResponse({ request, response }) {
    const asksForOne = BEGINNINGS.has(new URL(request.url).pathname) && request.method === "POST";
    if (response.status === 401 && !asksForOne) credential.refused();
    return undefined;
  },
};

/** A change whose answer is lost may have been made; a read may just be repeated. */
async function send(request: Request): Promise<Response> {
  try {
    return await globalThis.fetch(request);
  } catch (thrown) {
    const mayChange = request.method !== "GET" && !(request.method === "POST" && CHANGES_NOTHING.has(new URL(request.url).pathname));
    throw mayChange ? lost(thrown) : thrown;
  }
}

export const api = createClient<paths>({ baseUrl: "/", fetch: send });
api.use(session);

/** The answer of `api.GET(…)` and its kin. Raises Problem for anything that is none. */
export async function ask<T>(asked: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let found;
  try {
    found = await asked;
  } catch (thrown) {
    throw asProblem(thrown);
  }
  if (!found.response.ok) throw problemOf(found.response.status, found.error);
  return found.data as T;
}
