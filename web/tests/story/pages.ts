/** Every page: accessible in both themes and sizes, without actions that a viewer may not perform, and without data for other tenants. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { admin, barriers, browser, context, expectOpenToAll, go, paint, page, PHONE, shot, signIn, signInByToken, URL, watch, WIDE } from "./browser";

const OF_AN_EXPERIMENT = ["", "/trials", "/analysis", "/search", "/timeline", "/logs", "/config", "/code"];
const OF_A_TRIAL = ["", "/media", "/logs", "/checkpoints", "/runs", "/events"];
const OF_THE_CLUSTER = ["/map", "/queue", "/machines", "/usage", "/cost"];
const OF_THE_ADMINISTRATION = ["/users", "/groups", "/roles", "/tokens", "/limits", "/policies", "/webhooks", "/audit", "/tenants"];
/** Names of buttons that only users with write permissions may see. */
const CHANGES = /^(New |Fork|Pause$|Resume|Cancel$|Kill|Archive|Labels|Register|Edit|Set |Change |Approve|Reject|Drain|Undrain|Assign |Create |Delete|Remove (?!\d)|Revoke|Enable|Disable|Add (?!\d)|More)/;

let places: string[];
/** Texts of these pages that must not appear for another tenant. */
let words: string[];

describe("every page", () => {
  beforeAll(async () => {
    const { items } = await admin<{ items: { id: string; number: number; best: { trial: string; trial_number: number } | null }[] }>("GET", "/v1/experiments?filter=name%20=%20quadratic&sort=number");
    const models = await admin<{ items: { id: string; name: string }[] }>("GET", "/v1/models");
    const [first] = items;
    const [model] = models.items;
    if (!first?.best || !model) throw new Error("the story has made no experiment or no model");
    const [experiment, trial] = [`/experiments/${first.number}`, `/trials/${first.number}.${first.best.trial_number}`];
    places = [
      "/experiments",
      "/experiments/new",
      ...OF_AN_EXPERIMENT.map((tab) => experiment + tab),
      ...OF_A_TRIAL.map((tab) => trial + tab),
      `/compare?experiments=${first.number}`,
      ...OF_THE_CLUSTER.map((tab) => `/cluster${tab}`),
      "/models",
      `/models/${model.id}`,
      `/models/${model.id}/1`,
      ...OF_THE_ADMINISTRATION.map((tab) => `/admin${tab}`),
    ];
    words = ["quadratic", "parabola", "onerror", "nightly", "restarted", first.id, first.best.trial, model.id];
  });

  it("passes axe on every page, light and wide, dark and on a phone", { timeout: 240_000 }, async () => {
    const barred: string[] = [];
    for (const place of places) {
      await go(page, place);
      for (const [theme, size] of [["light", WIDE], ["dark", PHONE]] as const) {
        await paint(page, theme);
        await page.setViewportSize(size);
        barred.push(...(await barriers(page)).map((one) => `${place}, ${theme}: ${one}`));
      }
      await page.setViewportSize(WIDE);
      await shot(page, `all${place.replace(/[^a-z]+\d*/g, "-")}`);
    }
    expect(barred).toEqual([]);
  });

  it("reopens dialogs from the URL", async () => {
    for (const [place, what] of [["/admin/users", /^vic/], ["/cluster", /^w-/]] as const) {
      await go(page, place);
      await page.getByRole("main").getByText(what).first().click();
      await page.getByRole("dialog").getByRole("heading").first().waitFor();
      await page.reload();
      await page.getByRole("dialog").getByRole("heading").first().waitFor();
      await expectOpenToAll(page);
    }
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(new globalThis.URL(page.url()).search).toBe("");
  });

  it("hides actions without permission", { timeout: 120_000 }, async () => {
    const { other, odd } = await visitor();
    await signIn(other, "vic");
    const offered: string[] = [];
    for (const place of places) {
      await go(other, place);
      const names = await other.getByRole("main").getByRole("button").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? one.textContent ?? ""));
      offered.push(...names.filter((name) => CHANGES.test(name)).map((name) => `${place}: ${name}`));
    }
    expect(offered).toEqual([]);
    expect(odd).toEqual([]);
    await other.context().close();
  });

  it("redirects users without access to experiments, and requests no forbidden data", async () => {
    const { other, odd } = await visitor("/");
    const asked: string[] = [];
    other.on("response", (answer) => answer.status() === 403 && asked.push(answer.url()));
    other.on("websocket", (socket) => socket.url().includes("/v1/events") && asked.push(socket.url()));
    await signIn(other, "aud");
    await other.getByRole("heading", { name: "Cluster" }).waitFor();
    await go(other, "/admin/audit");
    await other.getByRole("row").nth(1).waitFor();
    expect(await other.getByRole("link", { name: "Experiments" }).count()).toBe(0);
    expect(asked).toEqual([]);
    expect(odd).toEqual([]);
    await other.context().close();
  });

  it("shows no data of this tenant to another tenant", { timeout: 120_000 }, async () => {
    const name = `other-${Date.now()}`;
    const made = await admin<{ secret: string }>("POST", "/v1/tenants", { name });
    const { other, odd } = await visitor();
    await signInByToken(other, made.secret);
    await other.getByRole("navigation", { name: "Main" }).waitFor();
    const seen: string[] = [];
    for (const place of places) {
      await go(other, place);
      const shown = await other.content();
      // The not-found text contains the URL itself.
      seen.push(...words.filter((word) => !place.includes(word) && shown.includes(word)).map((word) => `${place}: ${word}`));
    }
    expect(seen).toEqual([]);
    expect(odd).toEqual([]);
    await other.context().close();
  });
});

async function visitor(address = "/experiments"): Promise<{ other: Page; odd: string[] }> {
  const other = await (await context(browser)).newPage();
  const odd = watch(other);
  await other.goto(URL + address);
  return { other, odd };
}
