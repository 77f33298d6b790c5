/** The whole story, chapter by chapter: what is made in one is there in the next. */
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

it("did nothing meanwhile that a page of ours must not do", () => expect(wrong).toEqual([]));
