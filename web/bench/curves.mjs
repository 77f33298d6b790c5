// Part of the benchmark `web_curves`: node bench/curves.mjs CURVES POINTS RUNS [PICTURE]; prints the milliseconds of each run.
import react from "@vitejs/plugin-react";
import { resolve } from "node:path";
import { chromium } from "playwright-core";
import { build, preview } from "vite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";

const [curves, points, runs] = process.argv.slice(2, 5).map(Number);
const picture = process.argv[5];
const root = resolve(import.meta.dirname);
const outDir = mkdtempSync(resolve(tmpdir(), "muster-curves-"));
const config = { configFile: false, root, logLevel: "error", resolve: { alias: { "@": resolve(root, "../src") } } };
await build({ ...config, plugins: [react()], build: { outDir, target: "es2022", rolldownOptions: { input: resolve(root, "curves.html") } } });
const server = await preview({ ...config, build: { outDir }, preview: { port: 0, host: "127.0.0.1" } });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 500 } });
  page.on("pageerror", (error) => console.error(error.stack));
  await page.goto(`${server.resolvedUrls.local[0]}curves.html`);
  for (let run = 0; run < runs; run++) {
    console.log(JSON.stringify(await page.evaluate((asked) => window.draw(...asked), [curves, points, run + 1])));
  }
  if (picture) await page.screenshot({ path: picture });
} finally {
  await browser.close();
  await server.close();
  rmSync(outDir, { recursive: true });
}
