import { describe, expect, it } from "vitest";
import keys from "virtual:config-keys";
import { Problem } from "@/api/problem";
import { placeAt } from "@/training/completing";
import { isOnlyUnknown, markOf, overridesOf } from "@/experiments/creating";
import { leftOut, readRules, BUILT_IN } from "@/experiments/ignoring";
import { patchOf } from "@/experiments/merging";

describe("the keys of a config", () => {
  it("are those of docs/config.md", () => {
    const names = (place: string) => (keys[place] ?? []).map((key) => key.name);
    expect(names("")).toContain("entrypoint");
    expect(names("searcher")).toEqual(expect.arrayContaining(["metric", "max_trials", "divisor"]));
    expect(names("hyperparameters.*")).toEqual(expect.arrayContaining(["minval", "vals"]));
    expect(names("searcher.sampler").length).toBeGreaterThan(0);
    expect(keys[""]?.find((key) => key.name === "checkpoint_policy")?.words).toEqual(["best", "all", "none"]);
    expect(keys[""]?.find((key) => key.name === "name")?.words).toEqual([]);
  });

  it.each([
    [["name: x", "searcher:", "  name: pbt"], "  ", ["searcher"]],
    [["searcher:", "  sampler:", "    name: tpe"], "    ", ["searcher", "sampler"]],
    [["searcher:", "  sampler:", "    name: tpe"], "  max", ["searcher"]],
    [["hyperparameters:"], "  lr: {type: log, ", ["hyperparameters", "lr"]],
    [["searcher:", "  name: pbt"], "", []],
    [["resources:  # slots"], "  ", ["resources"]],
  ])("%j, then %j is in %j", (above, before, place) => expect(placeAt(above, before)).toEqual(place));
});

describe("an error in a config", () => {
  const told = (place: string, hint = "") => new Problem({ status: 422, code: "missing_key", detail: "the key is missing", place, hint });

  it("is marked at its position", () => {
    expect(markOf(told("searcher.name, line 3, column 5", "it is one of …"))).toMatchObject({ line: 3, column: 5 });
    expect(markOf(told("searcher"))).toBeNull();
  });

  it("is distinguished from missing data for the plan", () => {
    expect(isOnlyUnknown(told("searcher", "give --steps"))).toBe(true);
    expect(isOnlyUnknown(told("searcher.name, line 3, column 5", "give --steps"))).toBe(false);
    expect(isOnlyUnknown(told("searcher"))).toBe(false);
  });
});

describe("a fork", () => {
  it("contains only the differences", () => {
    const forked = { config: {}, config_yaml: "name: a\nhyperparameters: {lr: 0.1, width: 8}\nsearcher: {name: single}\n" };
    expect(overridesOf(forked, "name: a\nhyperparameters: {lr: 0.2}\nsearcher: {name: single}\n")).toEqual({ hyperparameters: { lr: 0.2, width: null } });
    expect(overridesOf(forked, forked.config_yaml)).toEqual({});
    expect(() => overridesOf(forked, "- a\n")).toThrow(/mapping/);
  });

  it("replaces lists as a whole", () => expect(patchOf({ a: [1, 2] }, { a: [2] })).toEqual({ a: [2] }));
});

describe("files excluded from the code", () => {
  const isOut = (name: string, ...lines: string[]) => leftOut(name, [...BUILT_IN, ...readRules(lines, "file")], () => false) !== null;
  const lines = ["# data", "*.csv", "runs/", "!kept.csv", "src/big.bin"];
  it.each([
    ["train.py", false],
    ["data.csv", true],
    ["deep/data.csv", true],
    ["kept.csv", false],
    ["runs/1/out.txt", true],
    ["runs", false],
    ["src/big.bin", true],
    ["other/src/big.bin", false],
    [".git/config", true],
    ["a/__pycache__/x.pyc", true],
    ["a.pyc.py", false],
  ])("%s: %s", (name, expected) => expect(isOut(name, ...lines)).toBe(expected));

  it.each([
    ["**/b", ["a/b", "a/c/b", "b"]],
    ["a/**", ["a/b", "a/c/b"]],
    ["a/**/b", ["a/b", "a/c/b"]],
    ["/b", ["b"]],
    ["[!a]", ["a/b", "a/c/b", "b"]],
    ["?/b", ["a/b"]],
    ["a/*/b", ["a/c/b"]],
    ["b/", []],
    ["\\#d", ["#d"]],
    ["[z-a]", []],
    ["[", []],
  ])("%s is matched as the command line matches it", (line, expected) => {
    expect(["#d", "a/b", "a/c/b", "b"].filter((name) => isOut(name, line))).toEqual(expected);
  });
});
