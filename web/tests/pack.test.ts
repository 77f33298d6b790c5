import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pack } from "@/experiments/pack";

it("is an archive that tar reads, under its own hash", async () => {
  const long = `${"deep/".repeat(30)}ä.py`;
  const sources = [
    { name: "train.py", content: new Blob(["print(1)\n"]) },
    { name: long, content: new Blob(["x".repeat(1025)]) },
    { name: "empty", content: new Blob([]) },
  ];
  const packed = await pack(sources);
  const bytes = Buffer.from(await packed.content.arrayBuffer());
  expect(packed.sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
  const folder = mkdtempSync(join(tmpdir(), "muster-pack-"));
  writeFileSync(join(folder, "code.tgz"), bytes);
  execFileSync("tar", ["-xzf", "code.tgz"], { cwd: folder });
  expect(readFileSync(join(folder, "train.py"), "utf8")).toBe("print(1)\n");
  expect(readFileSync(join(folder, long), "utf8")).toHaveLength(1025);
  expect(readFileSync(join(folder, "empty"), "utf8")).toBe("");
});

it("refuses a folder without files, with what to do", async () => {
  await expect(pack([])).rejects.toMatchObject({ code: "code_missing", hint: "choose the folder of the model code" });
});
