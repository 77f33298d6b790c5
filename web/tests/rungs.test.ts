import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { rungsOf } from "@/experiment/rungs";

it("collects the latest judgement per trial and rung, including NaN", () => {
  const judged = (trial: number, time: number, value: unknown, stop: boolean) => ({ kind: "judged", facts: { trial, time, value, stop } }) as never;
  const rungs = rungsOf([judged(1, 4, 0.9, false), judged(2, 1, 0.2, true), judged(1, 1, 0.8, true), judged(1, 1, 0.85, false), judged(3, 1, null, true), { kind: "ended", facts: { trial: 1 } } as never]);
  expect(rungs.map(({ time }) => time)).toEqual([1, 4]);
  expect(rungs[0]?.judged).toEqual([
    { trial: 2, value: 0.2, isStopped: true, isAtEnd: false },
    { trial: 1, value: 0.85, isStopped: false, isAtEnd: false },
    { trial: 3, value: NaN, isStopped: true, isAtEnd: false },
  ]);
});

it("does not count completed trials as stopped", () => {
  const [rung] = rungsOf([{ kind: "judged", facts: { trial: 1, time: 12, value: 0.9, stop: true, reached_max_time: true } } as never]);
  expect(rung?.judged).toEqual([{ trial: 1, value: 0.9, isStopped: false, isAtEnd: true }]);
});

it("reads the facts that the searcher writes", () => {
  const journal = readFileSync(new URL("../../tests/unit/searcher/recorded/async_halving.jsonl", import.meta.url), "utf8").trim().split("\n").slice(1).map((line) => JSON.parse(line) as never);
  const outcomes = rungsOf(journal).flatMap(({ judged }) => judged);
  expect(outcomes.filter(({ isAtEnd }) => isAtEnd).length).toBeGreaterThan(0);
  expect(outcomes.filter(({ isStopped }) => isStopped).length).toBeGreaterThan(0);
});
