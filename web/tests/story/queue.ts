/** Explanations of waiting trials, and killing one. */
import { it } from "vitest";
import { admin, expectOpenToAll, open, page, shot } from "./browser";

const SPARE = 2;

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

/** Creates an experiment whose trials take all slots, those of a worker that is still starting too, and returns its number. */
async function takeAllSlots(): Promise<number> {
  const { items } = await admin<{ items: { slots: number }[] }>("GET", "/v1/workers");
  const trials = items.reduce((sum, one) => sum + one.slots, 0) + SPARE;
  const number = await begin("sleep 600", trials);
  const placed = async () => {
    const { running, queued } = (await admin<{ trials: { running: number; queued: number } }>("GET", `/v1/experiments/${number}`)).trials;
    return running > 0 ? running + queued : 0;
  };
  while ((await placed()) < trials) await new Promise((done) => setTimeout(done, 200));
  return number;
}

/** Creates an experiment of concurrent trials and returns its number. */
async function begin(entrypoint: string, trials: number): Promise<number> {
  const searcher = { name: "random", metric: "loss", max_trials: trials, max_concurrent_trials: trials };
  const config = { name: "waits", entrypoint, hyperparameters: { x: { type: "double", minval: 0, maxval: 1 } }, searcher, max_restarts: 0 };
  return (await admin<{ number: number }>("POST", "/v1/experiments", { config })).number;
}
