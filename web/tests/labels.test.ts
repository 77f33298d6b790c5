import { describe, expect, it } from "vitest";
import { pressed, standings, wishedFor, withLabel, type Wish } from "@/training/labels";

describe("a label that is pressed in a list", () => {
  it("narrows what is shown, once", () => {
    expect(withLabel(undefined, "vision")).toBe('labels contains "vision"');
    const both = withLabel("state = active or number < 3", 'a "b"');
    expect(both).toBe('(state = active or number < 3) and labels contains "a \\"b\\""');
    expect(withLabel(both, 'a "b"')).toBe(both);
  });
});

describe("labels of several experiments", () => {
  it("are told with how many have them, new ones last", () => {
    const chosen = [{ labels: ["b", "a"] }, { labels: ["a"] }, { labels: ["c"] }];
    expect(standings(chosen, ["new", "c"])).toEqual([
      { label: "a", count: 2 },
      { label: "b", count: 1 },
      { label: "c", count: 1 },
      { label: "new", count: 0 },
    ]);
  });

  it.each([
    ["what none has is added, or not", 0, ["add", "leave"]],
    ["what all have is taken, or not", 3, ["remove", "leave"]],
    ["what some have goes to all, to none, and back", 2, ["add", "remove", "leave"]],
  ] as const)("%s", (_, count, steps) => {
    let wish: Wish = "leave";
    expect(steps.map(() => (wish = pressed(wish, count, 3)))).toEqual(steps);
  });

  it("are changed only where that is wished", () => {
    const wishes = new Map<string, Wish>([["a", "add"], ["b", "leave"], ["c", "remove"]]);
    expect([wishedFor(wishes, "add"), wishedFor(wishes, "remove")]).toEqual([["a"], ["c"]]);
  });
});
