/** From a result to a model in production: fork, compare, register, and approve by a second user. */
import { expect, it } from "vitest";
import { admin, browser, context, expectOpenToAll, open, page, shot, signIn, URL, watch } from "./browser";

const NOTES = "# Found <img src=x onerror=alert(4)>\n\n[a link](javascript:alert(5)) and [another](https://example.invalid/)";

/** Number of the experiment of the first chapter. */
let number = 0;

it("opens the experiment as its owner", async () => {
  const { items } = await admin<{ items: { number: number }[] }>("GET", "/v1/experiments?filter=name%20=%20quadratic%20and%20forked_from%20is%20absent&limit=1");
  number = items[0]?.number ?? 0;
  await page.context().clearCookies();
  await page.goto(`${URL}/experiments/${number}`);
  await signIn(page, "ann");
  await page.getByRole("link", { name: /Open trial/ }).waitFor();
  await shot(page, "experiment");
});

it("forks it with one changed value", async () => {
  await page.getByRole("button", { name: "Fork" }).click();
  const line = page.locator(".cm-line").filter({ hasText: /steps: 9/ });
  await line.click();
  await page.keyboard.press("End");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("7");
  await page.locator(".cm-line").filter({ hasText: /steps: 7/ }).waitFor();
  await page.getByText("valid", { exact: true }).waitFor();
  await shot(page, "fork");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/experiments\/\d+$/);
  const made = await admin<object>("GET", `/v1${pathOf()}`);
  expect(made).toMatchObject({ owner: "ann", config: { hyperparameters: { steps: { val: 7 } }, searcher: { max_trials: 4 } } });
});

it("compares the fork with the original", async () => {
  const fork = pathOf().split("/").at(-1) ?? "";
  await page.getByText("completed", { exact: true }).first().waitFor({ timeout: 80_000 });
  await open(page, `/compare?experiments=${number},${fork}`);
  await page.getByText("steps", { exact: true }).first().waitFor();
  await page.getByLabel(/of the compared trials/).waitFor();
  await expectOpenToAll(page);
  await shot(page, "compare");
});

it("registers a checkpoint as the first version of a new model", async () => {
  await page.goto(`${URL}/experiments/${number}`);
  await page.getByRole("link", { name: /Open trial/ }).click();
  await page.getByRole("link", { name: "Checkpoints" }).click();
  await page.getByRole("button", { name: "Register…" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill(`parabola ${number}`);
  await page.getByLabel("Comment").fill("found at night");
  await expectOpenToAll(page);
  await shot(page, "register");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/models\/[^/]+\/1$/);
  await page.getByText("found at night").waitFor();
});

it("needs the approval of a second user for production", async () => {
  await admin("PATCH", `/v1/models/${modelOf()}`, { approvals: { production: 1 }, notes: NOTES });
  await admin("POST", `/v1/models/${modelOf()}/versions/1/stage`, { stage: "staging" });
  await page.getByText("staging", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Change stage…" }).click();
  await page.getByLabel("Stage", { exact: true }).selectOption("production");
  await page.getByLabel("Reason").fill("the best so far");
  await page.getByRole("button", { name: "Change stage", exact: true }).click();
  await page.getByText("0 of 1 approved").waitFor();
  expect(await page.getByRole("button", { name: /Approve/ }).count()).toBe(0);
  const other = await (await context(browser)).newPage();
  const odd = watch(other);
  await other.goto(page.url());
  await signIn(other, "ben");
  await shot(other, "approve");
  await other.getByRole("button", { name: "Approve production" }).click();
  await other.getByRole("dialog").getByRole("button", { name: "Approve production" }).click();
  await page.getByText(/approved by ben/).waitFor();
  await shot(page, "version");
  expect(odd).toEqual([]);
  await other.context().close();
});

it("shows markup in notes and logs as text", async () => {
  await open(page, `/models/${modelOf()}`);
  await page.getByText("Found <img src=x onerror=alert(4)>").waitFor();
  expect(await page.getByRole("link", { name: "another" }).getAttribute("rel")).toContain("noreferrer");
  expect(await page.locator('a[href^="javascript:"], img[src="x"]').count()).toBe(0);
  await open(page, `/experiments/${number}/logs`);
  await page.getByText("<img src=x onerror=alert(2)>").first().waitFor();
  expect(await page.locator('a[href^="javascript:"], img[src="x"]').count()).toBe(0);
  await shot(page, "logs");
});

function modelOf(): string {
  return pathOf().split("/")[2] ?? "";
}

function pathOf(): string {
  return new globalThis.URL(page.url()).pathname;
}
