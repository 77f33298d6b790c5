import { expect, it } from "vitest";
import { explanationQuery } from "@/trial/queries";

it("is fetched again while the trial waits, because no event reports that its expected start has changed", () => {
  const { refetchInterval } = explanationQuery("7");
  if (typeof refetchInterval !== "function") throw new Error("the interval depends on the answer");
  const after = (data?: object) => refetchInterval({ state: { data } } as never);
  expect(after({ state: "waiting" })).toBeGreaterThan(0);
  expect([after({ state: "running" }), after({ state: "closed" }), after()]).toEqual([false, false, false]);
});
