/** A browser of the machine's own (Debian's chromium), and what is expected of every page in it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { expect } from "vitest";

export const URL = process.env.MUSTER_URL ?? "http://127.0.0.1:8080";
export const TOKEN = process.env.MUSTER_TOKEN ?? "";
export const PASSWORD = "correct horse battery";
const SHOTS = process.env.MUSTER_SHOTS;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function launch(): Promise<Browser> {
  // As root, as in containers, its own sandbox cannot be set up.
  return chromium.launch({ executablePath: process.env.MUSTER_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
}

/** Asks the platform as its admin. */
export async function admin<T>(verb: string, path: string, body?: object): Promise<T> {
  const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" };
  const answer = await fetch(URL + path, { method: verb, headers, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${verb} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** What must not happen on any page: a script's error, something that the policy refused, a word to another host. */
export function watch(page: Page): string[] {
  const wrong: string[] = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) wrong.push(`${page.url()}: ${message.text()} ${JSON.stringify(message.location())}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(URL) && !/^(data|blob):/.test(request.url())) wrong.push(`asked ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    wrong.push(`a script ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return wrong;
}

/** Signs in by the form, as people do; the browser has the session in a cookie then. */
export async function signIn(page: Page, user: string): Promise<void> {
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Rooms" }).waitFor();
}

/** Nothing on the page keeps somebody out (axe, WCAG 2.2 AA). */
export async function expectOpenToAll(page: Page): Promise<void> {
  // By the debugger's way in: the page's policy lets no foreign script run.
  const found = await page.evaluate(`${AXE}; axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ") + " " + (n.failureSummary || "")).join(" | ")))`);
  expect(found).toEqual([]);
}

/** Keeps a picture for the documentation, where one is wanted: light and dark, wide and on a phone. With its caret: to hide it is a style of its own. */
export async function shot(page: Page, name: string): Promise<void> {
  if (!SHOTS) return;
  const wide = page.viewportSize() ?? { width: 1280, height: 800 };
  for (const theme of ["light", "dark"] as const) {
    await page.evaluate((chosen) => (document.documentElement.dataset.theme = chosen), theme);
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${SHOTS}/${name}-${theme}.png`, caret: "initial" });
  }
  await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForTimeout(250);
  await page.screenshot({ path: `${SHOTS}/${name}-phone.png`, caret: "initial" });
  await page.setViewportSize(wide);
  await page.waitForTimeout(150);
}

export async function context(browser: Browser): Promise<BrowserContext> {
  return browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
}
