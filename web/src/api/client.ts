/** The client of the gateway, typed by its API description (`npm run gen`). */
import createClient, { type Middleware } from "openapi-fetch";
import { credential } from "@/api/credential";
import { asProblem, lost, problemOf } from "./problem";
import type { paths } from "./schema";

/** Paths that create a session: a 401 there does not end the current one. */
const SIGN_IN_PATHS = new Set(["/v1/sessions", "/v1/sign-in/token", "/v1/sign-in/link", "/v1/sign-in/finish"]);

/** POST operations that change nothing. */
const CHANGES_NOTHING = new Set([...SIGN_IN_PATHS, "/v1/plans"]);

const session: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(credential.headers())) request.headers.set(name, value);
    return request;
  },
  onResponse({ request, response }) {
    const asksForOne = SIGN_IN_PATHS.has(new URL(request.url).pathname) && request.method === "POST";
    if (response.status === 401 && !asksForOne) credential.refused();
    return undefined;
  },
};

/** A change without a response may have been applied; a read can be repeated. */
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

/** Returns the response of `api.GET(…)` and other methods. Raises Problem for errors. */
export async function ask<T>(request: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let found;
  try {
    found = await request;
  } catch (thrown) {
    throw asProblem(thrown);
  }
  if (!found.response.ok) throw problemOf(found.response.status, found.error);
  return found.data as T;
}
