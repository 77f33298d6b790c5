import { describe, expect, it } from "vitest";
import { changedRows, linesOf, plainRows } from "@/code/lines";
import { firstOf, marked, treeOf, type CodeFile } from "@/code/tree";

const file = (path: string, sha256 = "a"): CodeFile => ({ path, size_bytes: 1, sha256 });
const said = (before: string, after: string, isWhole = false) => changedRows(before, after, isWhole).map(({ kind, before, after, text }) => `${kind} ${before ?? "-"} ${after ?? "-"} ${text}`);
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`).join("\n");

describe("the files of code", () => {
  it("form a tree with folders first, without the contents of closed folders", () => {
    const files = marked([file("b.py"), file("a/z.py"), file("a.py"), file("a/inner/x.py")], null);
    expect(treeOf(files, new Set()).map(({ path, depth }) => `${depth} ${path}`)).toEqual(["0 a", "1 a/inner", "2 a/inner/x.py", "1 a/z.py", "0 a.py", "0 b.py"]);
    expect(treeOf(files, new Set(["a"])).map(({ name }) => name)).toEqual(["a", "a.py", "b.py"]);
  });

  it("are marked by their difference from another experiment", () => {
    const files = marked([file("same"), file("changed", "b"), file("new")], [file("same"), file("changed"), file("deleted")]);
    expect(Object.fromEntries([...files].map(([path, { mark }]) => [path, mark]))).toEqual({ same: "same", changed: "changed", new: "new", deleted: "deleted" });
  });

  it("open at the first difference, otherwise at the entrypoint", () => {
    expect(firstOf(marked([file("a"), file("b", "2")], [file("a"), file("b")]), "python3 a")).toBe("b");
    expect(firstOf(marked([file("a"), file("src/train.py")], null), "python3 src/train.py --x")).toBe("src/train.py");
    expect(firstOf(marked([file("a"), file("README.md")], null), "./run")).toBe("README.md");
    expect(firstOf(new Map(), "x")).toBeUndefined();
  });

  it("may have the names of object properties", () => {
    expect(treeOf(marked([file("__proto__/constructor"), file("toString")], null), new Set()).map(({ path }) => path)).toEqual(["__proto__", "__proto__/constructor", "toString"]);
  });
});

describe("the lines of a text", () => {
  it("may end in any style, and the last line end starts no line", () => {
    expect(linesOf("a\r\nb\rc\n\nd\n")).toEqual(["a", "b", "c", "", "d"]);
    expect(linesOf("")).toEqual([]);
    expect(plainRows("a\nb").map(({ after }) => after)).toEqual([1, 2]);
  });

  it("are listed as same, deleted and new with both numbers", () => {
    expect(said("a\nb\nc\n", "a\nB\nc\nd\n")).toEqual(["same 1 1 a", "deleted 2 - b", "new - 2 B", "same 3 3 c", "new - 4 d"]);
    expect(said("", "a\n")).toEqual(["new - 1 a"]);
  });

  it("that are unchanged are collapsed unless all are requested", () => {
    const after = numbered(20).replace("line 10", "other");
    expect(said(numbered(20), after)).toEqual([
      "left-out - - 6 unchanged lines",
      "same 7 7 line 7", "same 8 8 line 8", "same 9 9 line 9",
      "deleted 10 - line 10", "new - 10 other",
      "same 11 11 line 11", "same 12 12 line 12", "same 13 13 line 13",
      "left-out - - 7 unchanged lines",
    ]);
    expect(said(numbered(20), after, true)).toHaveLength(21);
    expect(said("a\r\nb", "a\nb\n")).toEqual([]);
  });

  it("of unrelated texts are listed one after the other without a long diff", () => {
    const [one, other] = ["x", "y"].map((sign) => Array.from({ length: 20_000 }, (_, at) => `${sign}${at}`).join("\n")) as [string, string];
    expect(changedRows(one, other, false)).toHaveLength(40_000);
  });
});
