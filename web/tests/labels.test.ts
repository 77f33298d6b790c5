import { describe, expect, it } from "vitest";
import { nextEdit, countLabels, labelsTo, withLabel, type LabelEdit } from "@/training/labels";

describe("a label that is clicked in a list", () => {
  it("narrows the list once", () => {
    expect(withLabel(undefined, "vision")).toBe('labels contains "vision"');
    const both = withLabel("state = active or number < 3", 'a "b"');
    expect(both).toBe('(state = active or number < 3) and labels contains "a \\"b\\""');
    expect(withLabel(both, 'a "b"')).toBe(both);
  });
});

describe("labels of several experiments", () => {
  it("are listed with their counts, new ones last", () => {
    const chosen = [{ labels: ["b", "a"] }, { labels: ["a"] }, { labels: ["c"] }];
    expect(countLabels(chosen, ["new", "c"])).toEqual([
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
    let edit: LabelEdit = "leave";
    expect(steps.map(() => (edit = nextEdit(edit, count, 3)))).toEqual(steps);
  });

  it("change only after an edit", () => {
    const edits = new Map<string, LabelEdit>([["a", "add"], ["b", "leave"], ["c", "remove"]]);
    expect([labelsTo(edits, "add"), labelsTo(edits, "remove")]).toEqual([["a"], ["c"]]);
  });
});
