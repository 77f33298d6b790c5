import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Asking } from "@/live/asking";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A page with one query, and a gateway with a delay. */
function shown(tookMs: number, meta?: Record<string, unknown>) {
  const client = new QueryClient();
  const told = { asked: 0, answers: [] as number[] };
  const queryFn = async ({ signal }: { signal: AbortSignal }) => {
    const mine = ++told.asked;
    await new Promise((resolve, reject) => {
      setTimeout(resolve, tookMs);
      signal.addEventListener("abort", reject);
    });
    return mine;
  };
  const end = new QueryObserver(client, { queryKey: ["one"], queryFn, meta }).subscribe(({ data }) => data !== undefined && data !== told.answers.at(-1) && told.answers.push(data));
  return { client, told, end };
}

it("does not cancel a slow response while data keeps changing", async () => {
  const { client, told, end } = shown(1700);
  const asking = new Asking(client);
  for (let at = 0; at < 40; at++) {
    asking.mark(() => true);
    await vi.advanceTimersByTimeAsync(250);
  }
  expect(told.answers.length).toBeGreaterThanOrEqual(4);
  asking.end();
  end();
});

it("refetches after the last change, at most once per second", async () => {
  const { client, told, end } = shown(10);
  const asking = new Asking(client);
  await vi.advanceTimersByTimeAsync(50);
  for (let at = 0; at < 12; at++) {
    asking.mark(({ queryKey }) => queryKey[0] === "one");
    await vi.advanceTimersByTimeAsync(250);
  }
  await vi.advanceTimersByTimeAsync(5000);
  expect(told.asked).toBe(4);
  asking.mark(({ queryKey }) => queryKey[0] === "two");
  await vi.advanceTimersByTimeAsync(5000);
  expect(told.asked).toBe(4);
  end();
});

it("respects a longer interval and still refetches after the last change", async () => {
  const { client, told, end } = shown(10, { minIntervalMs: 10_000 });
  const asking = new Asking(client);
  await vi.advanceTimersByTimeAsync(50);
  for (let at = 0; at < 32; at++) {
    asking.mark(() => true);
    await vi.advanceTimersByTimeAsync(250);
  }
  expect(told.asked).toBe(1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(told.asked).toBe(2);
  asking.end();
  end();
});
