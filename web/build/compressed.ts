/** Writes .br and .gz variants of compressible files, so that the gateway does not compress at run time. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";

const SHRINKS = /\.(js|css|html|svg|json|webmanifest)$/;
const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

export function compressed(directory: string): Plugin {
  return {
    name: "muster-compressed",
    apply: "build",
    async closeBundle() {
      const names = await readdir(directory, { recursive: true });
      await Promise.all(names.filter((name) => SHRINKS.test(name)).map((name) => compress(join(directory, name))));
    },
  };
}

async function compress(path: string): Promise<void> {
  const plain = await readFile(path);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  await Promise.all([
    writeFile(`${path}.br`, await brotli(plain, quality)),
    writeFile(`${path}.gz`, await zip(plain, { level: 9 })),
  ]);
}
