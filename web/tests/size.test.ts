/** Compressed size of the scripts that the first page loads. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";

const MOST_KB = 350;
const DIST = resolve(import.meta.dirname, "../dist");
const MANIFEST = resolve(DIST, ".vite/manifest.json");

interface Chunk {
  file: string;
  isEntry?: boolean;
  imports?: string[];
}

function scripts(manifest: Record<string, Chunk>, name: string, found = new Set<string>()): Set<string> {
  const chunk = manifest[name];
  if (chunk === undefined || found.has(chunk.file)) return found;
  found.add(chunk.file);
  for (const imported of chunk.imports ?? []) scripts(manifest, imported, found);
  return found;
}

it.skipIf(!existsSync(MANIFEST))(`the list of experiments takes at most ${MOST_KB} kB of scripts`, () => {
  const manifest = JSON.parse(readFileSync(MANIFEST, "utf8")) as Record<string, Chunk>;
  const files = [...scripts(manifest, "index.html"), ...scripts(manifest, "src/experiments/ExperimentsPage.tsx")];
  const bytes = [...new Set(files)].map((file) => statSync(resolve(DIST, `${file}.br`)).size);
  const sum = bytes.reduce((one, other) => one + other, 0);
  expect(bytes.length).toBeGreaterThan(1);
  expect(sum / 1000).toBeLessThan(MOST_KB);
});
