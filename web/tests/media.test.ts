import { describe, expect, it } from "vitest";
import { barsOf, bytesOf, cellText, piecesAt, tableOf, type Item } from "@/trial/media/contents";

const bytes = (value: unknown) => new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));

describe("logged media", () => {
  it("is a histogram if bins and edges match, otherwise null", () => {
    expect(barsOf(bytes({ counts: [1, 3], least: 0, greatest: 4 }))).toEqual({ edges: [0, 2, 4], counts: [1, 3], others: 0 });
    expect(barsOf(bytes({ counts: [1, 3], least: 0, greatest: 4, edges: [0, 1, 4], others: 2 }))).toEqual({ edges: [0, 1, 4], counts: [1, 3], others: 2 });
    const odd = ["<script>", "null", "[]", { counts: [], least: 0, greatest: 1 }, { counts: ["1"], least: 0, greatest: 1 }, { counts: [1], least: "0", greatest: 1 }, { counts: [1], least: 0, greatest: 1, edges: [0] }, { counts: Array(2000).fill(1), least: 0, greatest: 1 }];
    expect(odd.map((one) => barsOf(bytes(one)))).toEqual(odd.map(() => null));
  });

  it("is a table if it has columns and rows; cells are strings", () => {
    expect(tableOf(bytes({ columns: ["a"], rows: [[1], ["<b>"]] }))).toEqual({ columns: ["a"], rows: [[1], ["<b>"]] });
    for (const odd of ["{", { columns: ["a"] }, { columns: ["a"], rows: [1] }, { columns: "a", rows: [] }]) expect(tableOf(bytes(odd))).toBeNull();
    expect(["<b>", 1.5, null, undefined, { a: [1] }].map(cellText)).toEqual(["<b>", "1.5", "", "", '{"a":[1]}']);
  });

  it("is decoded from bytes", () => {
    expect([...bytesOf(btoa("\x89PNG"))]).toEqual([0x89, 0x50, 0x4e, 0x47]);
  });

  it("is the latest up to a step", () => {
    const items = [1, 5, 5, 9].map((step, at) => ({ id: `1.${at}`, step }) as Item);
    const ids = (step: number | null) => piecesAt(items, step).map(({ id }) => id);
    expect([ids(null), ids(9), ids(8), ids(4), ids(0)]).toEqual([["1.3"], ["1.3"], ["1.1", "1.2"], ["1.0"], []]);
  });
});
