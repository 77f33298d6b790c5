import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { STAGES_AFTER } from "@/models/data";
import { BOX, layOut } from "@/models/graph";
import { changedTags, tagsOf } from "@/models/tags";

describe("a lineage", () => {
  const node = (id: string) => ({ id, kind: "trial" as const, name: id, facts: {} });
  const edge = (source: string, target: string) => ({ source, target, kind: "used" });

  it("is laid out from left to right, each node after its last origin", () => {
    const laid = layOut({ nodes: ["v", "c", "d", "e"].map(node), edges: [edge("d", "e"), edge("e", "c"), edge("c", "v"), edge("d", "v")] });
    const column = (id: string) => (laid.nodes.find((one) => one.id === id)?.x ?? -1) / (BOX.width + BOX.across);
    expect(["d", "e", "c", "v"].map(column)).toEqual([0, 1, 2, 3]);
  });

  it("has no overlapping nodes and no lines to missing nodes", () => {
    const laid = layOut({ nodes: ["a", "b", "c"].map(node), edges: [edge("a", "c"), edge("b", "c"), edge("x", "c")] });
    expect(new Set(laid.nodes.map((one) => `${one.x} ${one.y}`)).size).toBe(3);
    expect(laid.edges).toHaveLength(2);
  });

  it("terminates on a cycle", () => {
    expect(layOut({ nodes: ["a", "b"].map(node), edges: [edge("a", "b"), edge("b", "a")] }).nodes).toHaveLength(2);
  });
});

describe("tags", () => {
  it("are parsed from a line without duplicates", () => {
    expect(tagsOf(" a, b  a,,c")).toEqual(["a", "b", "c"]);
    expect(tagsOf(" ")).toEqual([]);
  });

  it("are changed individually", () => {
    expect(changedTags(["a", "b"], "b, c")).toEqual({ add_tags: ["c"], remove_tags: ["a"] });
    expect(changedTags(["a"], "a")).toEqual({ add_tags: [], remove_tags: [] });
  });
});

it("offers exactly the stage transitions of the registry", () => {
  const told = readFileSync(new URL("../../services/registry/models/core/stage.py", import.meta.url), "utf8");
  const table = [...told.matchAll(/^ {4}"(\w+)": \((.*)\),$/gm)].map(([, stage, after]) => [stage, [...(after ?? "").matchAll(/\w+/g)].map(String)]);
  expect(Object.fromEntries(table)).toEqual(STAGES_AFTER);
});
