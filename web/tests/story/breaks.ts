/** A reload, a lost connection and a restarted gateway lose nothing on the page. */
import { expect, it } from "vitest";
import { admin, open, page } from "./browser";

/** Process id of the gateway; without it the gateway is not restarted. */
const GATEWAY = Number(process.env.MUSTER_GATEWAY_PID ?? 0);

async function number(): Promise<number> {
  const { items } = await admin<{ items: { number: number }[] }>("GET", "/v1/experiments?filter=name%20=%20quadratic&limit=1");
  return items[0]?.number ?? 0;
}

/** A label in the list, behind the open dialog. */
const labelled = (name: string) => page.locator("main a").filter({ hasText: name }).first();

async function label(name: string, instead?: string): Promise<void> {
  await admin("POST", "/v1/bulk/experiments/labels", { experiments: [String(await number())], add: [name], remove: instead ? [instead] : [] });
}

it("shows the same list after a reload", async () => {
  await open(page, "/experiments?sort=name");
  await page.getByLabel("Filter", { exact: true }).fill("name = quadratic");
  await page.keyboard.press("Enter");
  const rows = page.getByRole("row").filter({ hasText: "quadratic" });
  await rows.first().waitFor();
  const shown = async () => (await rows.first().innerText()).replace(/\d+ \w+ ago/g, "ago");
  const before = await shown();
  await page.reload();
  await rows.first().waitFor();
  expect(await shown()).toBe(before);
  expect(await page.getByLabel("Filter", { exact: true }).inputValue()).toBe("name = quadratic");
});

it("catches up after a lost connection and keeps the user's input", async () => {
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByLabel("Find a column").fill("half a wor");
  await page.context().setOffline(true);
  await page.getByText("Reconnecting").waitFor();
  await label("meanwhile");
  await page.context().setOffline(false);
  await labelled("meanwhile").waitFor({ state: "attached" });
  await page.getByText("Live", { exact: true }).waitFor();
  expect(await page.getByLabel("Find a column").inputValue()).toBe("half a wor");
});

it.skipIf(GATEWAY === 0)("reconnects to a restarted gateway", async () => {
  process.kill(GATEWAY, "SIGTERM");
  await page.getByText("Live", { exact: true }).waitFor({ state: "detached" });
  await page.getByText("Live", { exact: true }).waitFor();
  await label("restarted", "meanwhile");
  await labelled("restarted").waitFor({ state: "attached" });
  expect(await page.getByLabel("Find a column").inputValue()).toBe("half a wor");
  await page.getByRole("button", { name: "Done" }).click();
});
