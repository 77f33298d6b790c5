import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { api, ask } from "@/api/client";

const transport = readFileSync(join(import.meta.dirname, "../../sdk/muster/client/http/transport.py"), "utf8");
const harmless = [...(/^CHANGES_NOTHING = ([^)]*)\)/m.exec(transport)?.[1] ?? "").matchAll(/"([^"]+)"/g)].map(([, path]) => path ?? "");

afterEach(() => vi.unstubAllGlobals());

const detail = async (method: "POST" | "DELETE", path: string): Promise<string> => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  const send = api[method] as unknown as (path: string, options: object) => Promise<{ response: Response }>;
  const lost: Error = await ask(send(path, { baseUrl: "http://muster.test", body: {} })).then(() => expect.unreachable(), (thrown: Error) => thrown);
  return lost.message;
};

it("reports that a change may have been applied, except for the SDK's list of operations that change nothing", async () => {
  expect(harmless).toHaveLength(5);
  for (const path of harmless) expect(await detail("POST", path)).toBe("The platform cannot be reached");
  expect(await detail("POST", "/v1/experiments")).toContain("may have been applied");
  expect(await detail("DELETE", "/v1/sessions")).toContain("may have been applied");
});
