/** From what was found to what is used: a fork with one value changed, compared, registered. */
import { expect, it } from "vitest";
import { admin, expectOpenToAll, open, page, shot, signIn, URL } from "./browser";

/** What the first chapter has found. */
let number = 0;

it("opens what was found, as who found it", async () => {
  const { items } = await admin<{ items: { number: number }[] }>("GET", "/v1/experiments?filter=name%20=%20quadratic%20and%20forked_from%20is%20absent&limit=1");
  number = items[0]?.number ?? 0;
  await page.context().clearCookies();
  await page.goto(`${URL}/experiments/${number}`);
  await signIn(page, "ann");
  await page.getByRole("link", { name: /Open trial/ }).waitFor();
  await shot(page, "experiment");
});

it("forks it with one value changed, and leaves the rest as it was", async () => {
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

it("compares the two when the other one is done", async () => {
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

function pathOf(): string {
  return new globalThis.URL(page.url()).pathname;
}
