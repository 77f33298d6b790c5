import { expect, it } from "vitest";
import { toggleSelection } from "@/parts/table/lines";

const IDS = ["a", "b", "c", "d", "e"];

it("toggles one row", () => {
  expect([...toggleSelection(new Set(["a"]), IDS, 2, 2)]).toEqual(["a", "c"]);
  expect([...toggleSelection(new Set(["a", "c"]), IDS, 2, 2)]).toEqual(["a"]);
});

it("toggles the range from the last toggled row in both directions", () => {
  expect([...toggleSelection(new Set(["b"]), IDS, 3, 1)]).toEqual(["b", "c", "d"]);
  expect([...toggleSelection(new Set(["d"]), IDS, 1, 3)].sort()).toEqual(["b", "c", "d"]);
  expect([...toggleSelection(new Set(["b", "c", "d"]), IDS, 1, 3)]).toEqual([]);
});

it("ignores lines without an id", () => {
  expect([...toggleSelection(undefined, IDS, 9, -1)]).toEqual([]);
});
