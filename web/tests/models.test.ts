import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { STAGES_AFTER } from "@/models/data";
import { BOX, layOut } from "@/models/graph";
import { changedTags, tagsOf } from "@/models/tags";
import { parseInline, parseMarkdown, safeHref } from "@/parts/markdown";

describe("notes", () => {
  it("are read as blocks", () => {
    const blocks = parseMarkdown("# Title\n\nOne\ntwo\n\n- a\n- `b`\n\n> said\n\n```\n<b>x</b>\n```\n---");
    expect(blocks.map((block) => block.kind)).toEqual(["heading", "paragraph", "list", "quote", "code", "rule"]);
    expect(blocks[1]).toEqual({ kind: "paragraph", inlines: [{ kind: "text", text: "One two" }] });
    expect(blocks[4]).toEqual({ kind: "code", text: "<b>x</b>" });
  });

  it("carry no markup: a tag is text", () => {
    expect(parseInline("<img src=x onerror=alert(1)>")).toEqual([{ kind: "text", text: "<img src=x onerror=alert(1)>" }]);
  });

  it.each(["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "//evil.example", "/\\evil.example", "vbscript:x", "\tjavascript:x"])("lead nowhere by %s", (address) => {
    expect(safeHref(address)).toBeNull();
    expect(parseInline(`[x](${address.trim()})`).every((one) => one.kind !== "link")).toBe(true);
  });

  it("lead to the web and to pages here", () => {
    expect(parseInline("see [it](https://example.net/a) and /x")).toContainEqual({ kind: "link", text: "it", href: "https://example.net/a" });
    expect(safeHref("/experiments/31")).toBe("/experiments/31");
  });

  it("end, whatever is written", () => {
    for (const text of ["```", ">", "#", "- ", "1.", "**", "[a](", "> a\nb\n> c"]) expect(parseMarkdown(text).length).toBeLessThan(5);
  });
});

describe("a lineage", () => {
  const node = (id: string) => ({ id, kind: "trial" as const, name: id, facts: {} });
  const edge = (source: string, target: string) => ({ source, target, kind: "used" });

  it("stands from left to right, each behind the last of what it came from", () => {
    const laid = layOut({ nodes: ["v", "c", "d", "e"].map(node), edges: [edge("d", "e"), edge("e", "c"), edge("c", "v"), edge("d", "v")] });
    const column = (id: string) => (laid.nodes.find((one) => one.id === id)?.x ?? -1) / (BOX.width + BOX.across);
    expect(["d", "e", "c", "v"].map(column)).toEqual([0, 1, 2, 3]);
  });

  it("has no two boxes in one place, and lines only between those that are there", () => {
    const laid = layOut({ nodes: ["a", "b", "c"].map(node), edges: [edge("a", "c"), edge("b", "c"), edge("x", "c")] });
    expect(new Set(laid.nodes.map((one) => `${one.x} ${one.y}`)).size).toBe(3);
    expect(laid.edges).toHaveLength(2);
  });

  it("ends though it goes round", () => {
    expect(layOut({ nodes: ["a", "b"].map(node), edges: [edge("a", "b"), edge("b", "a")] }).nodes).toHaveLength(2);
  });
});

describe("tags", () => {
  it("are read from a line, each once", () => {
    expect(tagsOf(" a, b  a,,c")).toEqual(["a", "b", "c"]);
    expect(tagsOf(" ")).toEqual([]);
  });

  it("come and go alone: those that stay are not named", () => {
    expect(changedTags(["a", "b"], "b, c")).toEqual({ add_tags: ["c"], remove_tags: ["a"] });
    expect(changedTags(["a"], "a")).toEqual({ add_tags: [], remove_tags: [] });
  });
});

it("offers the stages to which the registry lets a version come, and no others", () => {
  const told = readFileSync(new URL("../../services/registry/core/stage.py", import.meta.url), "utf8");
  const table = [...told.matchAll(/^ {4}"(\w+)": \((.*)\),$/gm)].map(([, stage, after]) => [stage, [...(after ?? "").matchAll(/\w+/g)].map(String)]);
  expect(Object.fromEntries(table)).toEqual(STAGES_AFTER);
});
