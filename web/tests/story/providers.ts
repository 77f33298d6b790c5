/** Sign-in with a provider that the sign-in page offers. */
import { expect, it } from "vitest";
import { browser, context, expectOpenToAll, shot, URL } from "./browser";

it("returns from the provider to the requested page", async ({ skip }) => {
  const { providers } = (await (await fetch(`${URL}/v1/sign-in/ways`)).json()) as { providers: { label: string }[] };
  const [provider] = providers;
  if (!provider) return skip("this platform shows no provider");
  const own = await context(browser);
  const other = await own.newPage();
  await other.goto(`${URL}/models?x=1`);
  const way = other.getByRole("button", { name: `Continue with ${provider.label}` });
  await way.waitFor();
  await expectOpenToAll(other);
  await shot(other, "providers");
  await way.click();
  await other.locator("input[name=sub]").fill("cleo");
  await other.getByRole("button", { name: "Authorize" }).click();
  await other.getByRole("navigation", { name: "Main" }).waitFor();
  expect(new globalThis.URL(other.url()).pathname).toBe("/models");
  const readable = await other.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage));
  expect(readable).not.toContain("mss_");
  await own.close();
});
