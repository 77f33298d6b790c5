/** All chapters in order: each uses what earlier ones created. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { begin, browser, wrong } from "./browser";

beforeAll(begin);
afterAll(() => browser.close());

await import("./experiments");
await import("./models");
await import("./queue");
await import("./breaks");
await import("./pages");
await import("./providers");

it("violated no policy and raised no script error", () => expect(wrong).toEqual([]));
