import { describe, expect, it } from "vitest";
import { readMapping, textOf } from "@/admin/mapping";
import { readNumber, typed } from "@/admin/numbers";
import { Problem } from "@/api/problem";
import { ifStill, isOvertaken, see } from "@/api/seen";

describe("a config fragment", () => {
  it("survives a round trip through YAML", () => {
    const config = { resources: { slots_per_trial: 2, pool: "gpu" }, labels: ["a", "b"], name: "yes" };
    expect(readMapping(textOf(config))).toEqual({ value: config, marks: [] });
  });

  it("is empty for empty text", () => {
    expect(textOf({})).toBe("");
    expect(readMapping("  \n# nothing\n")).toEqual({ value: {}, marks: [] });
  });

  it("has a mark at syntax errors", () => {
    const { value, marks } = readMapping("resources:\n  slots: [1, 2\nname: x\n");
    expect(value).toBeNull();
    expect(marks[0]?.line).toBeGreaterThan(1);
    expect(marks[0]?.message).not.toContain("\n");
  });

  it.each(["- a\n- b", "just a word", "7"])("is a mapping of keys, not %j", (text) => {
    expect(readMapping(text)).toMatchObject({ value: null, marks: [{ line: 1, message: "A config must be a YAML mapping of keys to values." }] });
  });
});

describe("a number in a form", () => {
  it.each([["", null], [" ", null], ["0", 0], ["12", 12], ["1.5", undefined], ["-1", undefined], ["many", undefined]])("%j is %j", (text, value) => {
    expect(readNumber(text)).toBe(value);
  });

  it("may be fractional if allowed", () => {
    expect(readNumber("1.5", false)).toBe(1.5);
    expect([typed(null), typed(0)]).toEqual(["", "0"]);
  });
});

describe("a conditional change", () => {
  const answer = (status: number, body: object) => Promise.resolve({ data: status === 200 ? body : undefined, error: body, response: new Response(null, { status, headers: { ETag: '"7"' } }) });

  it("sends the ETag of the object", async () => {
    const seen = await see(answer(200, { name: "a" }));
    expect([seen.value, ifStill(seen)]).toEqual([{ name: "a" }, { "If-Match": '"7"' }]);
  });

  it("distinguishes conflicts from other errors", async () => {
    await expect(see(answer(404, { code: "not_found", detail: "no" }))).rejects.toThrow("no");
    expect(isOvertaken(new Problem({ status: 412, code: "precondition_failed", detail: "changed" }))).toBe(true);
    expect(isOvertaken(new Problem({ status: 409, code: "conflict", detail: "other" }))).toBe(false);
  });
});
