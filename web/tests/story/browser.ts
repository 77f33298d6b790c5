/** Drives Debian's Chromium and checks what must hold on every page. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { expect } from "vitest";

export const URL = process.env.MUSTER_URL ?? "http://127.0.0.1:8080";
export const TOKEN = process.env.MUSTER_TOKEN ?? "";
export const PASSWORD = "correct horse battery";
const SHOTS = process.env.MUSTER_SHOTS;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Shared by the chapters of the story; each continues where the previous one ended. */
export let browser: Browser;
/** The page of ann, an admin of her tenant. */
export let page: Page;
/** Violations on that page. */
export let wrong: string[];

/** Opens the browser and creates the users ann and ben (admin), vic (viewer) and aud (auditor). */
export async function begin(): Promise<void> {
  browser = await chromium.launch({
    executablePath: process.env.MUSTER_CHROMIUM ?? "/usr/bin/chromium",
    // Chromium cannot set up its sandbox as root, for example in containers.
    args: ["--no-sandbox"],
  });
  const people = await admin<{ items: { name: string }[] }>("GET", "/v1/users?limit=200");
  for (const [name, role] of [["ann", "admin"], ["ben", "admin"], ["vic", "viewer"], ["aud", "auditor"]] as const) {
    if (!people.items.some((one) => one.name === name)) {
      await admin("POST", "/v1/users", { name });
      await admin("POST", "/v1/role-bindings", { role, user: name });
    }
    await admin("PUT", `/v1/users/${name}/password`, { password: PASSWORD });
  }
  page = await (await context(browser)).newPage();
  wrong = watch(page);
}

/** Sends a request as admin, or with another token. */
export async function admin<T>(verb: string, path: string, body?: object, token = TOKEN): Promise<T> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch(URL + path, { method: verb, headers, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${verb} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Records violations on a page: script errors, refusals by the content security policy, requests to other hosts. */
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

/** Signs in with the form, which sets the session cookie. */
export async function signIn(page: Page, user: string): Promise<void> {
  await page.getByRole("radio", { name: "Password" }).click();
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
}

/** Signs in with a token, which is exchanged for a session. */
export async function signInByToken(page: Page, token: string): Promise<void> {
  await page.getByRole("radio", { name: "Token" }).click();
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Opens a URL with a page load and waits until the page is complete. */
export async function open(page: Page, address: string): Promise<void> {
  await page.goto(URL + address, { waitUntil: "commit" });
  await page.waitForFunction(isThere);
}

/** Navigates within the application and waits until the page is complete. */
export async function go(page: Page, address: string): Promise<void> {
  await page.evaluate((to) => (window as unknown as Routed).__TSR_ROUTER__.navigate({ href: to }), address);
  await page.waitForFunction(isThere);
}

interface Routed {
  __TSR_ROUTER__: { navigate: (to: { href: string }) => Promise<void> };
}

/** Runs in the page: true if it has a title and nothing is loading. */
function isThere(): boolean {
  return document.querySelector("main h1") !== null && document.querySelector('main [role="status"][aria-label]') === null;
}

/** Sets the theme of the page, whatever the system prefers. */
export async function paint(page: Page, theme: "light" | "dark"): Promise<void> {
  await page.evaluate((chosen) => (document.documentElement.dataset.theme = chosen), theme);
}

export const WIDE = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** Returns accessibility violations (axe, WCAG 2.2 AA). Target sizes in plots (`data-plotted`) are exempt, because their positions are essential (2.5.8). */
export async function barriers(of: Page): Promise<string[]> {
  // Through the debugger, because the content security policy permits no other scripts.
  if (!(await of.evaluate("'axe' in window"))) await of.evaluate(AXE);
  // Resized elements measure their overflow in the next frame and render in the one after.
  await of.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return of.evaluate(`axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] }).then((found) => found.violations
    .map(({ id, nodes }) => ({ id, nodes: nodes.filter((one) => id !== "target-size" || !document.querySelector(one.target[0])?.closest("[data-plotted]")) }))
    .filter(({ nodes }) => nodes.length > 0)
    .map(({ id, nodes }) => id + ": " + nodes.map((one) => one.target.join(" ") + " " + (one.failureSummary || "")).join(" | ")))`);
}

/** Expects no accessibility violations. */
export async function expectOpenToAll(of: Page): Promise<void> {
  expect(await barriers(of)).toEqual([]);
}

/** Takes screenshots for the documentation if requested: light, dark and on a phone. The caret stays visible, because hiding it adds a style. */
export async function shot(page: Page, name: string): Promise<void> {
  if (!SHOTS) return;
  const wide = page.viewportSize() ?? WIDE;
  for (const theme of ["light", "dark"] as const) {
    await paint(page, theme);
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${SHOTS}/${name}-${theme}.png`, caret: "initial" });
  }
  await paint(page, "light");
  await page.setViewportSize(PHONE);
  await page.waitForTimeout(250);
  await page.screenshot({ path: `${SHOTS}/${name}-phone.png`, caret: "initial" });
  await page.setViewportSize(wide);
  await page.waitForTimeout(150);
}

export async function context(browser: Browser): Promise<BrowserContext> {
  return browser.newContext({ viewport: WIDE, colorScheme: "light", reducedMotion: "reduce" });
}
