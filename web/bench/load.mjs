/**
 * The first view of the list with a cold cache: `node bench/load.mjs URL COOKIE_NAME COOKIE RUNS`. Prints a JSON object a run.
 * Interactive: rows are there, and the main thread has been free for half a second since.
 */
import { chromium } from "playwright-core";

const [url, name, value, runs] = process.argv.slice(2);
const QUIET_MS = 500;
const browser = await chromium.launch({ executablePath: process.env.MUSTER_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (let run = 0; run < Number(runs); run += 1) {
  // A context of its own has a cache of its own, which is empty.
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.addCookies([{ name, value, url, httpOnly: true, sameSite: "Strict" }]);
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.seen = { rows: 0, busy: 0 };
    new PerformanceObserver((list) => {
      for (const task of list.getEntries()) window.seen.busy = Math.max(window.seen.busy, task.startTime + task.duration);
    }).observe({ type: "longtask", buffered: true });
    new MutationObserver((_, observer) => {
      if (document.querySelectorAll('[role="grid"] [aria-rowindex]').length < 10) return;
      observer.disconnect();
      // Behind the next frame it is on the screen.
      requestAnimationFrame(() => setTimeout(() => (window.seen.rows = performance.now())));
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(`${url}/experiments`);
  await page.waitForFunction((quiet) => window.seen.rows > 0 && performance.now() > Math.max(window.seen.rows, window.seen.busy) + quiet, QUIET_MS);
  const told = await page.evaluate(() => ({
    rows_ms: window.seen.rows,
    interactive_ms: Math.max(window.seen.rows, window.seen.busy),
    script_kb: performance.getEntriesByType("resource").filter((one) => one.name.endsWith(".js")).reduce((sum, one) => sum + one.encodedBodySize, 0) / 1000,
    answers_ms: Math.max(...performance.getEntriesByType("resource").filter((one) => one.name.includes("/v1/")).map((one) => one.duration)),
  }));
  console.log(JSON.stringify(told));
  await context.close();
}
await browser.close();
