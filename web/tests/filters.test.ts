import { describe, expect, it } from "vitest";
import { condition, FIELDS, type FilterField } from "@/experiments/filters";
import { filterOf, orderOf, sortOf } from "@/experiments/query";
import { readListSearch } from "@/experiments/search";
import { joined, quoted } from "@/parts/expression";

const field = (name: string) => FIELDS.find((one) => one.name === name) as FilterField;

describe("a filter condition from the dialog", () => {
  it.each([
    ["name", "contains", 'a "b" \\', 'name contains "a \\"b\\" \\\\"'],
    ["best.value", "<", "0.3", "best.value < 0.3"],
    ["best.value", "<", "1e-3", "best.value < 0.001"],
    ["best.value", "<", "low", null],
    ["best.value", "is absent", "", "best.value is absent"],
    ["state", "=", "active", "state = active"],
    ["created_at", ">=", "2026-11-01", 'created_at >= "2026-11-01"'],
    ["name", "contains", "  ", null],
  ])("%s %s %s", (name, operator, value, said) => expect(condition(field(name), operator, value)).toBe(said));

  it("narrows an existing filter without changing its meaning", () => {
    expect(joined("state = active or state = paused", "owner = ann")).toBe("(state = active or state = paused) and owner = ann");
    expect(joined("", undefined, " owner = ann ")).toBe("owner = ann");
    expect(quoted("tabs\tstay")).toBe('"tabs\tstay"');
  });
});

describe("the URL of the list", () => {
  it("contains filter and order", () => {
    const search = readListSearch({ state: "failed", filter: "owner = ann", sort: "-best.value", archived: "true", columns: ["name", 3], other: 1 });
    expect(filterOf(search)).toBe("state in (error, rejected) and owner = ann");
    expect(search.archived).toBe(true);
    expect(search.columns).toEqual(["name", "3"]);
    expect(orderOf(search.sort)).toEqual({ by: "best.value", isDown: true });
    expect(sortOf(orderOf("name"))).toBe("name");
  });

  it("may contain anything", () => {
    expect(readListSearch({ filter: 3, sort: ["x"], archived: "no", columns: "name" })).toEqual({});
    expect(filterOf({ state: "constructor" })).toBe("");
    const before = { group: "failed" };
    expect({ ...before, ...readListSearch(before) }).toEqual({ state: "error" });
    expect(orderOf("a,b")).toBeNull();
  });
});
