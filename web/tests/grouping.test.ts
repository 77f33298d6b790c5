import type { Row } from "@tanstack/react-table";
import { describe, expect, it } from "vitest";
import { conditionOf, nameOf } from "@/experiments/grouping";
import { filterOf } from "@/experiments/query";
import { alone, readListSearch, toggled } from "@/experiments/search";
import { linesOf, stepOf, toggleSelection, type Group } from "@/parts/table/lines";

describe("a group of experiments", () => {
  it("is a filter that exactly its experiments match", () => {
    expect(conditionOf("owner", "ann")).toBe('owner = "ann"');
    expect(conditionOf("labels", 'a "b"')).toBe('labels contains "a \\"b\\""');
    expect(conditionOf("labels", null)).toBe("labels is absent");
    expect(nameOf("searcher", "adaptive_asha")).toBe("adaptive asha");
    expect(nameOf("metric", null)).toBe("no metric");
  });

  it("is opened, closed and isolated by the URL, which keeps other state", () => {
    const search = readListSearch({ grouped: "labels", open: ["night", null], state: "running", filter: "owner = ann or owner = ben", other: 1 });
    expect(toggled(search, null).open).toEqual(["night"]);
    expect(toggled(toggled(search, null), "night").open).toBeUndefined();
    expect(toggled(search, "day").open).toEqual(["night", null, "day"]);
    const one = alone(search, "labels", "night");
    expect(one.grouped ?? one.open).toBeUndefined();
    expect(filterOf(one)).toBe('state in (submitted, active, stopping) and ((owner = ann or owner = ben) and labels contains "night")');
    expect(readListSearch({ grouped: "constructor", open: "x" })).toEqual({});
  });
});

describe("a table in groups", () => {
  const row = (id: string) => ({ original: id }) as Row<string>;
  const group = (id: string, isOpen: boolean, items: string[] = [], text?: string): Group<string> => ({ id, head: id, isOpen, items, foot: text ? { text } : undefined });
  // The same item is in both groups.
  const lines = linesOf([row("a"), row("b"), row("a")], (item) => item, [group("one", true, ["a", "b"]), group("two", false), group("three", true, ["a"], "more")]);

  it("has a line per group, rows of open groups and unique keys", () => {
    expect(lines.map((line) => line.id ?? line.kind)).toEqual(["head", "a", "b", "head", "head", "a", "foot"]);
    expect(new Set(lines.map((line) => line.key)).size).toBe(lines.length);
  });

  it.each([
    ["ArrowRight", 3, "toggle"],
    ["ArrowRight", 0, { to: 1 }],
    ["ArrowLeft", 0, "toggle"],
    ["ArrowLeft", 3, undefined],
    ["ArrowLeft", 2, { to: 0 }],
    ["ArrowLeft", 6, { to: 4 }],
    ["Enter", 3, "toggle"],
    ["Enter", 1, "open"],
    ["Enter", 6, "open"],
    [" ", 4, "toggle"],
    [" ", 1, "select"],
    [" ", 6, undefined],
    ["End", 0, { to: 6 }],
    ["ArrowDown", 6, { to: 6 }],
    ["ArrowUp", -1, { to: 0 }],
    ["Enter", -1, undefined],
    ["x", 0, undefined],
  ])("%s at line %i: %o", (key, at, step) => expect(stepOf(key, lines, at)).toEqual(step));

  it("selects rows but not group headings in between", () => {
    const ids = lines.map((line) => line.id);
    expect([...toggleSelection(new Set(), ids, 5, 1)]).toEqual(["a", "b"]);
    expect([...toggleSelection(new Set(), ids, 0, 0)]).toEqual([]);
  });
});
