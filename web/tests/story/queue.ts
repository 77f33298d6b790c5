/** Explanations of waiting trials, and killing one. */
import { it } from "vitest";
import { admin, expectOpenToAll, open, page, shot } from "./browser";

it("explains why a trial waits, which runs hold the slots and what would help", async () => {
  const first = await takeAllSlots();
  const second = await begin("true", 1);
  await open(page, "/cluster/queue");
  await page.getByRole("button", { name: new RegExp(`^Trial ${second}\\.1: explain why it waits`) }).click();
  const why = page.getByRole("complementary", { name: `Explanation of trial ${second}.1` });
  await why.getByRole("heading", { name: "Expected start" }).waitFor();
  await why.getByRole("link", { name: new RegExp(`^${first}\\.`) }).first().waitFor();
  await why.getByRole("heading", { name: "Changes that would start it" }).waitFor();
  await expectOpenToAll(page);
  await shot(page, "queue");
  await admin("POST", `/v1/experiments/${first}/kill`);
  await page.getByText("None of your trials wait").waitFor({ timeout: 60_000 });
});

it("kills a waiting trial after a confirmation", async () => {
  const first = await takeAllSlots();
  const second = await begin("true", 1);
  await open(page, `/trials/${second}.1`);
  await page.getByRole("button", { name: "Kill…" }).click();
  await expectOpenToAll(page);
  await shot(page, "kill");
  await page.getByRole("dialog").getByRole("button", { name: `Kill trial ${second}.1` }).click();
  await page.getByText("killed by a user").waitFor();
  await page.getByRole("button", { name: "Kill…" }).waitFor({ state: "detached" });
  await admin("POST", `/v1/experiments/${first}/kill`);
});

/** Creates an experiment whose trials hold all slots, and returns its number once they do. */
async function takeAllSlots(): Promise<number> {
  const { items } = await admin<{ items: { slots: number }[] }>("GET", "/v1/workers");
  const slots = items.reduce((sum, one) => sum + one.slots, 0);
  const number = await begin("sleep 600", slots);
  const held = async () => (await admin<{ trials: { running: number } }>("GET", `/v1/experiments/${number}`)).trials.running;
  while ((await held()) < slots) await new Promise((done) => setTimeout(done, 200));
  return number;
}

/** Creates an experiment of concurrent trials and returns its number. */
async function begin(entrypoint: string, trials: number): Promise<number> {
  const searcher = { name: "random", metric: "loss", max_trials: trials, max_concurrent_trials: trials };
  const config = { name: "waits", entrypoint, hyperparameters: { x: { type: "double", minval: 0, maxval: 1 } }, searcher, max_restarts: 0 };
  return (await admin<{ number: number }>("POST", "/v1/experiments", { config })).number;
}
