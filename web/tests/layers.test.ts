import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Folders of `src`, the lowest first. A file imports from its own folder and from lower layers; folders of one layer do not know each other. */
const LAYERS = [
  ["styles"],
  ["api"],
  ["parts"],
  ["session"],
  ["live"],
  ["charts"],
  ["training"],
  ["logs", "code"],
  ["experiments", "experiment", "trial", "models", "cluster", "compare", "admin"],
  ["app"],
];

const SOURCE = join(__dirname, "../src");

function filesOf(folder: string): string[] {
  return readdirSync(join(SOURCE, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name));
}

test("every folder stands in a layer", () => {
  const folders = readdirSync(SOURCE, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map((entry) => entry.name).sort()).toEqual(LAYERS.flat().sort());
});

test("imports point down", () => {
  const upward: string[] = [];
  LAYERS.forEach((layer, height) => {
    const lower = LAYERS.slice(0, height).flat();
    for (const folder of layer) {
      for (const file of filesOf(folder)) {
        for (const [, target] of readFileSync(join(SOURCE, file), "utf8").matchAll(/from "@\/([^"/]+)/g)) {
          if (target && target !== folder && !lower.includes(target)) upward.push(`${file} imports ${target}`);
        }
      }
    }
  });
  expect(upward).toEqual([]);
});
