import { expect, it } from "vitest";
import { toggleSelection } from "@/parts/table/lines";

const IDS = ["a", "b", "c", "d", "e"];

it("turns one row", () => {
  expect([...toggleSelection(new Set(["a"]), IDS, 2, 2)]).toEqual(["a", "c"]);
  expect([...toggleSelection(new Set(["a", "c"]), IDS, 2, 2)]).toEqual(["a"]);
});

it("turns all from the last that was turned on to this one, in either direction", () => {
  expect([...toggleSelection(new Set(["b"]), IDS, 3, 1)]).toEqual(["b", "c", "d"]);
  expect([...toggleSelection(new Set(["d"]), IDS, 1, 3)].sort()).toEqual(["b", "c", "d"]);
  expect([...toggleSelection(new Set(["b", "c", "d"]), IDS, 1, 3)]).toEqual([]);
});

it("ticks nothing that is not there", () => {
  expect([...toggleSelection(undefined, IDS, 9, -1)]).toEqual([]);
});
