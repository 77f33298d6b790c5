// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

const ANN = { name: "ann", tenant_name: "default", permissions: [], roles: [] };
let me: object | null;
let asked: string[];
let root: Root;

beforeEach(() => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  vi.stubGlobal("scrollTo", () => undefined);
  asked = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(`${request.method} ${new URL(request.url).pathname}`);
    const answer = (status: number, body: object) => new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
    if (request.url.endsWith("/v1/me")) return me ? answer(200, me) : answer(401, { code: "unauthenticated", detail: "nobody" });
    if (request.url.endsWith("/v1/sign-in/ways")) return answer(200, { passwords: true, providers: [] });
    return answer(422, { code: "link_used", detail: "the link was used already" });
  });
});

afterEach(async () => {
  await act(async () => root.unmount());
  document.body.replaceChildren();
  vi.unstubAllGlobals();
  vi.resetModules();
  location.hash = "";
});

async function shown(): Promise<void> {
  const { Gate } = await import("@/session/Gate");
  const place = document.body.appendChild(document.createElement("div"));
  root = createRoot(place);
  const client = new QueryClient();
  await act(async () =>
    root.render(
      <QueryClientProvider client={client}>
        <Gate>the application</Gate>
      </QueryClientProvider>,
    ),
  );
}

const sees = (text: string) => vi.waitFor(async () => (await act(async () => undefined), expect(document.body.textContent).toContain(text)));
const press = (name: string) => act(async () => [...document.querySelectorAll("button")].find((one) => one.textContent === name)?.click());

it("uses the code of a sign-in link only after a click", async () => {
  me = null;
  location.hash = "#sign-in=msl_x";
  await shown();
  await sees("Sign in with this link");
  expect(location.href).not.toContain("msl_");
  expect(asked).not.toContain("POST /v1/sign-in/link");
  await press("Sign in");
  await sees("the link was used already");
  expect(asked).toContain("POST /v1/sign-in/link");
  await press("Sign in another way");
  await sees("Sign in to Muster");
});

it("names the session that a link would replace, and can keep it", async () => {
  me = ANN;
  location.hash = "#sign-in=msl_x";
  await shown();
  await sees("You are signed in as ann (tenant default). This link replaces that session");
  await press("Stay signed in as ann");
  await sees("the application");
  expect(asked).not.toContain("POST /v1/sign-in/link");
});

it("asks for confirmation of a link that is pasted into the sign-in page's tab", async () => {
  me = null;
  await shown();
  await sees("Sign in to Muster");
  await act(async () => {
    location.hash = "#sign-in=msl_y";
    dispatchEvent(new Event("hashchange"));
  });
  await sees("Sign in with this link");
  expect(location.href).not.toContain("msl_");
});
