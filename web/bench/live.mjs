/**
 * Part of the benchmark `web_live`: `node bench/live.mjs URL COOKIE_NAME COOKIE PATH CURVES AHEAD SECONDS`. Prints one JSON object:
 * frames a second of each stretch of scrolling, the heap behind each once rubbish is collected, and when the chart of all curves first
 * reached each step beyond AHEAD, as seen on the screen, in milliseconds since 1970; and the processor time of the page and the browser.
 * PROFILE, TRACE and PICTURE are files for what the page's scripts took, what the browser did (chrome://tracing), and how it looked at the end.
 */
import { writeFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [url, name, value, path, ...numbers] = process.argv.slice(2);
const [curves, ahead, seconds] = numbers.map(Number);
const STRETCHES = 10;
const browser = await chromium.launch({ executablePath: process.env.MUSTER_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.addCookies([{ name, value, url, httpOnly: true, sameSite: "Strict" }]);
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(error.stack));
  await page.addInitScript(watchCharts, ahead);
  await page.goto(url + path);
  await page.waitForFunction((wanted) => window.seen.curves >= wanted, curves, { timeout: 60_000 });
  const debuggerOf = await context.newCDPSession(page);
  await debuggerOf.send("Performance.enable", { timeDomain: "threadTicks" });
  const told = { began_ms: Date.now(), page_s: -(await busy(debuggerOf)), frames: [], heap_mb: [] };
  const before = await processes();
  if (process.env.PROFILE) await debuggerOf.send("Profiler.enable").then(() => debuggerOf.send("Profiler.start"));
  if (process.env.TRACE) await browser.startTracing(page, { path: process.env.TRACE });
  for (let stretch = 0; stretch < STRETCHES; stretch += 1) {
    const half = (500 * seconds) / STRETCHES;
    told.frames.push(Math.round(10 * (await page.evaluate(scroll, half))) / 10);
    await page.waitForTimeout(half);
    await debuggerOf.send("HeapProfiler.collectGarbage");
    const { usedSize } = await debuggerOf.send("Runtime.getHeapUsage");
    told.heap_mb.push(Math.round(usedSize / 1e5) / 10);
  }
  if (process.env.PROFILE) writeFileSync(process.env.PROFILE, JSON.stringify((await debuggerOf.send("Profiler.stop")).profile));
  if (process.env.TRACE) await browser.stopTracing();
  told.page_s += await busy(debuggerOf);
  told.browser_s = Object.entries(await processes()).map(([kind, s]) => [kind, s - (before[kind] ?? 0)]);
  console.log(JSON.stringify({ ...told, ended_ms: Date.now(), ...(await page.evaluate(() => window.seen)) }));
} finally {
  if (process.env.PICTURE) await browser.contexts()[0]?.pages()[0]?.screenshot({ path: process.env.PICTURE });
  await browser.close();
}

/** Processor time of the page's own thread so far, in seconds. */
async function busy(debuggerOf) {
  const { metrics } = await debuggerOf.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value;
}

/** Processor time of the browser's processes so far, in seconds, by what they are. */
async function processes() {
  const { processInfo } = await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
  const found = {};
  for (const { type, cpuTime } of processInfo) found[type] = (found[type] ?? 0) + cpuTime;
  return found;
}

function watchCharts(ahead) {
  window.seen = { curves: 0, reached: [] };
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntriesByName("muster.curves")) {
      window.seen.curves = Math.max(window.seen.curves, detail?.curves ?? 0);
      const last = window.seen.reached.at(-1)?.[0] ?? ahead;
      // Behind the next frame it is on the screen.
      if (detail?.reach > last) requestAnimationFrame(() => setTimeout(() => window.seen.reached.push([detail.reach, performance.timeOrigin + performance.now()])));
    }
    performance.clearMeasures("muster.curves");
  }).observe({ type: "measure" });
}

/** Down the page and up again, at every frame; tells the frames a second. */
function scroll(forMs) {
  const moves = [...document.querySelectorAll("*")].find((one) => one.scrollHeight > one.clientHeight + 100 && /auto|scroll/.test(getComputedStyle(one).overflowY)) ?? document.scrollingElement;
  return new Promise((resolve) => {
    const began = performance.now();
    let frames = 0;
    const step = (now) => {
      frames += 1;
      const room = moves.scrollHeight - moves.clientHeight;
      const far = ((now - began) * 0.8) % (2 * room);
      moves.scrollTop = far > room ? 2 * room - far : far;
      if (performance.now() - began < forMs) requestAnimationFrame(step);
      else resolve((1000 * frames) / (performance.now() - began));
    };
    requestAnimationFrame(step);
  });
}
