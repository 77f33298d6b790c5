/** A researcher's day: sign in, plan and create a search, follow it, find it and archive it. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { admin, browser, context, expectOpenToAll, open, page, shot, signIn, signInByToken, TOKEN, URL } from "./browser";

const NASTY = "<img src=x onerror=alert(1)> {{7*7}} [31mred";
const CONFIG = `name: quadratic
labels: [nightly]
entrypoint: python3 train.py
hyperparameters:
  x: {type: double, minval: -4, maxval: 4}
  steps: 9
searcher:
  name: adaptive_asha
  metric: loss
  max_trials: 4
  max_concurrent_trials: 2
  time_metric: epochs
  max_time: 9
max_restarts: 0
`;
const SCRIPT = `import time
import muster

trial = muster.trial({"x": 1.0, "steps": 9})
position = trial.hparams["x"]
print("\\x1b[31m<img src=x onerror=alert(2)>\\x1b]8;;javascript:alert(3)\\x07here\\x1b]8;;\\x07 </script>", flush=True)
for step in range(1, trial.hparams["steps"] + 1):
    position -= 0.2 * position
    time.sleep(0.1)
    trial.validate(step, epochs=step, loss=position**2)
    with trial.checkpoint(step) as folder:
        (folder / "position").write_text(str(position))
    if trial.should_stop():
        break
`;

it("shows the sign-in page to unauthenticated users and returns to the requested URL", async () => {
  await page.goto(`${URL}/experiments?state=active`);
  await page.getByRole("heading", { name: "Sign in to Muster" }).waitFor();
  await expectOpenToAll(page);
  await shot(page, "sign-in");
  await page.getByLabel("User").fill("ann");
  await page.getByLabel("Password", { exact: true }).fill("a wrong one");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await signIn(page, "ann");
  expect(page.url()).toContain("state=active");
  const readable = await page.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage));
  expect(readable).not.toContain("mss_");
});

it("signs the first administrator in by a link that works once", async () => {
  const link = await admin<{ path: string }>("POST", "/v1/sign-in/links", {});
  const asked: string[] = [];
  for (const isFirst of [true, false]) {
    const other = await (await context(browser)).newPage();
    other.on("request", (request) => asked.push(request.url()));
    await other.goto(URL + link.path);
    await other.getByRole("heading", { name: "Sign in with this link" }).waitFor();
    expect(other.url()).not.toContain("msl_");
    if (isFirst) {
      await expectOpenToAll(other);
      await shot(other, "sign-in-link");
    }
    await other.getByRole("button", { name: "Sign in", exact: true }).click();
    if (isFirst) {
      await other.getByRole("navigation", { name: "Main" }).waitFor();
      await other.getByText("admin", { exact: true }).first().waitFor();
    } else {
      await other.getByRole("alert").getByText("has been used").waitFor();
      await other.getByRole("button", { name: "Sign in another way" }).click();
      await other.getByRole("heading", { name: "Sign in to Muster" }).waitFor();
    }
    expect(other.url()).not.toContain("msl_");
    await other.context().close();
  }
  expect(asked.join()).not.toContain("msl_");
});

it("asks for confirmation before a sign-in link replaces a session", async () => {
  const path = async () => (await admin<{ path: string }>("POST", "/v1/sign-in/links", {})).path;
  const other = await (await context(browser)).newPage();
  await other.goto(URL);
  await other.getByRole("heading", { name: "Sign in to Muster" }).waitFor();
  await signIn(other, "ann");
  const me = () => other.evaluate(async () => ((await (await fetch("/v1/me", { headers: { "Muster-Session": "cookie" } })).json()) as { name: string }).name);
  await other.goto(URL + (await path()));
  await other.getByText("You are signed in as ann").waitFor();
  expect(await me()).toBe("ann");
  await shot(other, "sign-in-link-replaces");
  await other.getByRole("button", { name: "Stay signed in as ann" }).click();
  await other.getByRole("navigation", { name: "Main" }).waitFor();
  // Only the fragment changes, so the page is not reloaded.
  await other.evaluate((hash) => void (location.hash = hash), (await path()).slice(2));
  await other.getByText("You are signed in as ann").waitFor();
  await other.getByRole("button", { name: "Replace the session" }).click();
  await other.getByRole("navigation", { name: "Main" }).waitFor();
  expect(await me()).toBe("admin");
  await other.context().close();
});

it("plans a search while its config is edited, and marks errors", async () => {
  await page.getByRole("button", { name: "New experiment" }).click();
  const editor = page.locator(".cm-content");
  await editor.click();
  await write(CONFIG.replace("metric: loss", "metrik: loss"));
  await page.getByText("invalid", { exact: true }).waitFor();
  await page.locator(".cm-lintRange-error, .cm-lintPoint-error").first().waitFor();
  expect(await page.getByRole("button", { name: "Create" }).isDisabled()).toBe(true);
  await write(CONFIG);
  await page.getByText("code is missing", { exact: true }).waitFor({ timeout: 60_000 });
  await page.getByText(/runs train\.py, but the experiment has no code/).waitFor();
  expect(await page.getByRole("button", { name: "Create" }).isDisabled()).toBe(true);
  await expectOpenToAll(page);
  await shot(page, "create-without-code");
  await page.getByLabel("Folder of the model code").setInputFiles(folderOf({ "fit.py": SCRIPT, ".env": "TOKEN=1" }));
  await page.getByText(/the code has 1 file: fit\.py/).waitFor({ timeout: 60_000 });
  await page.getByText(/likely secrets\): \.env/).waitFor();
  await shot(page, "create-without-script");
  await page.getByRole("button", { name: "Choose other code" }).click();
  await page.getByLabel("Files of the model code").setInputFiles(join(folderOf({ "train.py": SCRIPT }), "train.py"));
  await page.getByLabel("Seconds for a step").fill("0.5");
  await page.getByText("Slot-hours").waitFor({ timeout: 60_000 });
  await page.getByText("valid", { exact: true }).waitFor({ timeout: 60_000 });
  await expectOpenToAll(page);
  await shot(page, "create");
  await page.reload();
  await page.getByText("quadratic").waitFor();
});

it("creates the experiment once, with a folder of code", async () => {
  await page.getByLabel("Folder of the model code").setInputFiles(folderOf({ "train.py": SCRIPT }));
  await page.getByText("1 file,").waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/experiments\/\d+$/);
  const number = page.url().split("/").at(-1) ?? "";
  const made = await admin<{ name: string; owner: string; code_sha256: string }>("GET", `/v1/experiments/${number}`);
  expect(made).toMatchObject({ name: "quadratic", owner: "ann" });
  expect(made.code_sha256).toHaveLength(64);
});

it("updates the list live without refetching", async () => {
  await page.getByRole("link", { name: "Experiments", exact: true }).click();
  const row = page.getByRole("row").filter({ hasText: "quadratic" }).first();
  await row.waitFor();
  const asked: string[] = [];
  page.on("request", (request) => request.url().includes("/v1/experiments?") && asked.push(request.url()));
  await row.getByText("completed").waitFor({ timeout: 80_000 });
  await row.getByText("100 %").waitFor();
  expect(asked.length).toBeLessThan(4);
  await page.mouse.move(640, 700);
  await expectOpenToAll(page);
  await shot(page, "experiments");
});

it("shows untrusted names as text", async () => {
  await admin("POST", "/v1/experiments", { name: NASTY, config: { entrypoint: "true", searcher: { name: "single", metric: "loss" } } });
  await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
  expect(await page.locator('img[src="x"]').count()).toBe(0);
});

it("finds the experiment by filter and in the command palette", async () => {
  await page.getByLabel("Filter", { exact: true }).fill("labels contains nightly and best.value < 5");
  await page.keyboard.press("Enter");
  await page.waitForURL(/filter=/);
  await page.getByText("onerror").first().waitFor({ state: "detached" });
  await page.getByLabel("Filter", { exact: true }).fill("colour = red");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "colour" }).waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("quadr");
  await page.getByRole("option", { name: /quadratic/ }).first().waitFor();
  await expectOpenToAll(page);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/experiments\/\d+$/);
});

it("archives only the selected experiments", async () => {
  await page.getByRole("link", { name: "Experiments", exact: true }).click();
  const all = await admin<{ items: unknown[] }>("GET", "/v1/experiments?limit=200");
  const row = page.getByRole("row").filter({ hasText: "quadratic" }).first();
  await row.getByRole("checkbox").click();
  await page.getByRole("toolbar").getByRole("button", { name: "Archive" }).click();
  await page.getByText("archived 1 experiment").waitFor();
  const left = await admin<{ items: unknown[] }>("GET", "/v1/experiments?limit=200");
  expect(left.items.length).toBe(all.items.length - 1);
});

it("previews all matching experiments before a bulk action", async () => {
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Show the archive" }).click();
  await page.getByLabel("Filter", { exact: true }).fill("name = quadratic");
  await page.keyboard.press("Enter");
  await page.getByRole("row").filter({ hasText: "quadratic" }).first().waitFor();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: /Act on all/ }).click();
  const act = page.getByRole("dialog").getByRole("button", { name: /Unarchive \d+ experiment/ });
  await act.waitFor();
  await expectOpenToAll(page);
  await act.click();
  await page.getByText(/Unarchived \d+ experiment/).waitFor();
});

it("assigns and removes a role", async () => {
  await page.goto(`${URL}/admin/roles`);
  await page.getByRole("button", { name: "Assign role" }).click();
  await page.getByLabel("User or group", { exact: true }).selectOption("user:vic");
  await page.getByLabel("Role", { exact: true }).selectOption("editor");
  await page.getByLabel("Workspace", { exact: true }).fill("story");
  await expectOpenToAll(page);
  await page.keyboard.press("Enter");
  const given = page.getByRole("row").filter({ hasText: "vic" }).filter({ hasText: "story" });
  await given.getByRole("button", { name: "Remove editor from vic" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await given.waitFor({ state: "detached" });
});

it("labels only the selected experiments and filters by the label", async () => {
  await page.goto(`${URL}/experiments`);
  const row = page.getByRole("row").filter({ hasText: "quadratic" }).first();
  await row.getByRole("checkbox").click();
  await page.getByRole("button", { name: "Labels…" }).click();
  await page.getByRole("checkbox", { name: "nightly" }).uncheck();
  await page.getByLabel("New label").fill("kept");
  await page.keyboard.press("Enter");
  await expectOpenToAll(page);
  await shot(page, "labels");
  await page.getByRole("button", { name: "Save" }).click();
  await row.getByRole("link", { name: "kept" }).waitFor();
  expect(await row.getByRole("link", { name: "nightly" }).count()).toBe(0);
  await row.getByRole("link", { name: "kept" }).click();
  await page.waitForURL(/filter=labels/);
  await page.getByText("onerror").first().waitFor({ state: "detached" });
});

it("groups experiments with keyboard control and keeps the open groups in the URL", async () => {
  await page.goto(`${URL}/experiments`);
  await page.getByRole("button", { name: "Group" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Label" }).press("Enter");
  const table = page.getByRole("treegrid", { name: "experiments" });
  const kept = table.getByRole("row", { name: /^kept 1 experiment/ });
  await kept.waitFor();
  const without = (await admin<{ items: unknown[] }>("GET", "/v1/experiments?limit=200&filter=labels%20is%20absent")).items.length;
  expect(await table.getByRole("row").last().innerText()).toMatch(new RegExp(`^no label\\s+${without} experiment`));
  const isOpen = (open: boolean) => kept.and(page.locator(`[aria-expanded=${open}]`)).waitFor();
  await kept.click();
  await isOpen(true);
  await table.focus();
  await page.keyboard.press("ArrowLeft");
  await isOpen(false);
  await page.keyboard.press("ArrowRight");
  await isOpen(true);
  await table.getByRole("row", { level: 2 }).filter({ hasText: "quadratic" }).waitFor();
  await page.reload();
  await table.getByRole("row", { level: 2 }).filter({ hasText: "quadratic" }).waitFor();
  await expectOpenToAll(page);
  await shot(page, "groups");
  await page.goBack();
  await table.getByRole("row", { level: 2 }).first().waitFor({ state: "detached" });
  await page.getByRole("button", { name: "By label" }).click();
  await page.getByRole("menuitemcheckbox", { name: "No groups" }).click();
  await page.getByRole("grid", { name: "experiments" }).waitFor();
  await page.goto(`${URL}/experiments?filter=labels+contains+kept`);
});

it("saves a view with its columns and loads it in another browser", async () => {
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "x", exact: true }).check();
  await page.getByRole("checkbox", { name: "Owner" }).uncheck();
  await expectOpenToAll(page);
  await shot(page, "columns");
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("columnheader", { name: "x", exact: true }).waitFor();
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Save this view…" }).click();
  await page.getByLabel("Name").fill("kept ones");
  await page.keyboard.press("Enter");
  await page.getByText("View kept ones saved").waitFor();
  const other = await (await context(browser)).newPage();
  await other.goto(`${URL}/experiments`);
  await signIn(other, "ann");
  await other.getByRole("button", { name: "Views" }).click();
  await other.getByRole("menuitemcheckbox", { name: "kept ones" }).click();
  await other.waitForURL(/filter=labels/);
  await other.getByRole("columnheader", { name: "x", exact: true }).waitFor();
  expect(await other.getByRole("columnheader", { name: "Owner" }).count()).toBe(0);
  await other.context().close();
});

it("returns to the page after a session has ended, also with a token", async () => {
  await page.goto(`${URL}/experiments?sort=name`);
  await page.getByRole("row").first().waitFor();
  await admin("DELETE", "/v1/users/ann/sessions");
  await page.getByLabel("Filter", { exact: true }).fill("state = completed");
  await page.waitForTimeout(2500);
  await page.keyboard.press("Enter");
  await page.getByText("Your session has ended").waitFor();
  await signInByToken(page, TOKEN);
  await page.getByRole("row").filter({ hasText: "quadratic" }).first().waitFor();
  expect(page.url()).toContain("sort=name");
});

it("uses the code of another experiment", async () => {
  const { items } = await admin<{ items: { number: number }[] }>("GET", "/v1/experiments?filter=name%20=%20quadratic&limit=1");
  const number = String(items[0]?.number);
  await open(page, "/experiments/new");
  await page.getByText("code is missing", { exact: true }).waitFor({ timeout: 60_000 });
  await page.getByLabel("Code of experiment").fill(number);
  await page.getByRole("button", { name: "Use code" }).click();
  await page.getByText(`Code of experiment ${number}`).waitFor();
  await page.getByText("1 file,").waitFor();
  await page.getByText("valid", { exact: true }).waitFor({ timeout: 60_000 });
  await shot(page, "create-with-earlier-code");
});

it("shows experiments without reported metrics without an error", async () => {
  const names = { "no validation yet": "import time; time.sleep(600)", "failed before one": "raise SystemExit(3)" };
  for (const [name, end] of Object.entries(names)) {
    const script = `import muster; trial = muster.trial(); trial.report(1, loss=2.0); ${end}`;
    const searcher = { name: "random", metric: "accuracy", max_trials: 2, max_concurrent_trials: 1 };
    const config = { name, entrypoint: ["python3", "-c", script], hyperparameters: { x: { type: "double", minval: 0, maxval: 1 } }, searcher, max_restarts: 0 };
    const { number } = await admin<{ number: number }>("POST", "/v1/experiments", { config });
    const reported = async () => (await admin<{ columns: string[] }>("GET", `/v1/experiments/${number}/columns`)).columns.includes("metrics.training.loss");
    await expect.poll(reported, { timeout: 80_000 }).toBe(true);
    if (name.startsWith("failed")) await expect.poll(async () => (await admin<{ final: boolean }>("GET", `/v1/experiments/${number}`)).final, { timeout: 80_000 }).toBe(true);
    await open(page, `/experiments/${number}`);
    await page.getByText(name.startsWith("failed") ? "No trial reported accuracy before" : "No trial has reported accuracy yet").waitFor();
    await page.getByRole("row").filter({ hasText: `${number}.1` }).first().waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await shot(page, name.replaceAll(" ", "-"));
    for (const tab of ["trials", "analysis"]) {
      await open(page, `/experiments/${number}/${tab}`);
      expect(await page.getByRole("alert").count()).toBe(0);
    }
    if (!name.startsWith("failed")) await admin("POST", `/v1/experiments/${number}/kill`);
  }
});

/** Creates a temporary folder with these files. */
function folderOf(files: Record<string, string>): string {
  const folder = join(mkdtempSync(join(tmpdir(), "muster-story-")), "code");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Replaces the text of the editor. It is deleted first, because typing over highlighted text adds a style that the policy refuses. */
async function write(text: string): Promise<void> {
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}
