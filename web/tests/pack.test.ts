import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CACHES, MARKS, SECRETS } from "@/experiments/ignoring";
import { filesOfDrop } from "@/experiments/dropping";
import { pack, sourcesOf } from "@/experiments/pack";

it("is a valid tar archive with its hash", async () => {
  const long = `${"deep/".repeat(30)}ä.py`;
  const sources = [
    { name: "train.py", content: new Blob(["print(1)\n"]) },
    { name: long, content: new Blob(["x".repeat(1025)]) },
    { name: "empty", content: new Blob([]) },
  ];
  const packed = await pack({ files: sources, leftOut: [] });
  const bytes = Buffer.from(await packed.content.arrayBuffer());
  expect(packed.sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
  const folder = mkdtempSync(join(tmpdir(), "muster-pack-"));
  writeFileSync(join(folder, "code.tgz"), bytes);
  execFileSync("tar", ["-xzf", "code.tgz"], { cwd: folder });
  expect(readFileSync(join(folder, "train.py"), "utf8")).toBe("print(1)\n");
  expect(readFileSync(join(folder, long), "utf8")).toHaveLength(1025);
  expect(readFileSync(join(folder, "empty"), "utf8")).toBe("");
});

it("refuses an empty folder with a hint", async () => {
  await expect(pack({ files: [], leftOut: [] })).rejects.toMatchObject({ code: "code_missing", hint: "choose the folder of the model code" });
});

const blobs = (files: Record<string, string>) => Object.entries(files).map(([name, text]) => ({ name, content: new Blob([text]) }));
const sent = async (files: Record<string, string>) => (await sourcesOf(blobs(files))).files.map(({ name }) => name);
const out = async (files: Record<string, string>) => (await sourcesOf(blobs(files))).leftOut.map(({ path, reason }) => `${reason} ${path}`);

it("excludes likely secrets, profiles and caches and lists them", async () => {
  const files = { "train.py": "", ".env": "", ".env.example": "", "a/id_rsa": "", ".git/config": "", ".git/HEAD": "", "s/Local State": "", "s/x": "", "home/client.json": "", "home/secrets/a": "", "b/x.pyc": "" };
  expect(await sent(files)).toEqual([".env.example", "train.py"]);
  expect(await out(files)).toEqual(["secret .env", "secret a/id_rsa", "secret .git/", "secret s/", "secret home/", "cache b/x.pyc"]);
  expect(await sent({ ".musterignore": "!.env", ".env": "" })).toEqual([".env", ".musterignore"]);
});

it("uses .gitignore without a .musterignore", async () => {
  const files = { ".gitignore": "/out\ndata/*.csv\n*.log\n!keep.log\n", "sub/.gitignore": "/deep\n", "out/x": "", "sub/out/x": "", "data/a.csv": "", "data/raw/b.csv": "", "y.log": "", "keep.log": "", "sub/deep/z": "" };
  expect(await sent(files)).toEqual([".gitignore", "data/raw/b.csv", "keep.log", "sub/.gitignore", "sub/out/x"]);
  expect(await out(files)).toEqual(["file out/", "file data/a.csv", "file y.log", "file sub/deep/"]);
  expect(await sent({ ...files, ".musterignore": "sub\ndata\n*.log\n" })).toEqual([".gitignore", ".musterignore", "out/x"]);
});

it("does not include built-in exclusions by .gitignore", async () => {
  const rules = "*\n!*/\n!*.py\n!*.json\n!*.sqlite\n";
  const files = { "train.py": "", "a/b.py": "", "a/b.json": "", "a/b.csv": "", ".env.example": "", ".git/a.json": "", ".venv/pyvenv.py": "", "a/__pycache__/x.json": "", "fox/cookies.sqlite": "", "kaggle.json": "" };
  expect(await sent({ ...files, ".gitignore": rules })).toEqual(["a/b.json", "a/b.py", "train.py"]);
  expect(await sent({ ...files, ".detignore": rules })).toEqual(expect.arrayContaining([".git/a.json", ".venv/pyvenv.py", "kaggle.json"]));
});

it("knows the same patterns as the command line", () => {
  const python = readFileSync(join(import.meta.dirname, "../../sdk/muster/archive/_ignore.py"), "utf8");
  const listed = (name: string) => [...(new RegExp(`^${name} = \\(([^]*?)^\\)`, "m").exec(python)?.[1] ?? "").matchAll(/"([^"]+)"/g)].map(([, one]) => one);
  expect(CACHES).toEqual(listed("CACHES"));
  expect(SECRETS).toEqual(listed("SECRETS"));
  const marks = /^MARKS = (.*)$/m.exec(python)?.[1] ?? "";
  expect(MARKS.flat()).toEqual([...marks.matchAll(/"([^"]+)"/g)].map(([, one]) => one));
});

type Tree = { [name: string]: Tree | string };

/** Returns entries like a browser: in chunks. */
function entryOf(name: string, held: Tree | string): object {
  if (typeof held === "string") return { name, isFile: true, isDirectory: false, file: (resolve: (file: File) => void) => resolve(new File([held], name)) };
  const parts = [...Object.entries(held).map(([inner, one]) => [entryOf(inner, one)]), []];
  return { name, isFile: false, isDirectory: true, createReader: () => ({ readEntries: (resolve: (some: object[]) => void) => resolve(parts.shift() ?? []) }) };
}

it.each([
  [{ code: { "train.py": "1", pkg: { "a.py": "2", "b.py": "3" } } }, ["pkg/a.py", "pkg/b.py", "train.py"]],
  [{ "train.py": "1", pkg: { "a.py": "2" } }, ["pkg/a.py", "train.py"]],
])("takes what was dropped, the files of a single folder from it on", async (tree, names) => {
  const items = Object.entries(tree).map(([name, held]) => ({ webkitGetAsEntry: () => entryOf(name, held) }));
  const files = await filesOfDrop({ items } as unknown as DataTransfer);
  expect(files.map(({ name }) => name).sort()).toEqual(names);
});
