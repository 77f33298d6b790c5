import { describe, expect, it } from "vitest";
import { readCompareSearch } from "@/compare/search";
import { differences } from "@/training/values";
import { eventsOf } from "@/trial/events";
import { isAgain, mainOf, phasesUntil, sums, type PhaseKind } from "@/training/phases";

describe("a trial's phases", () => {
  const at = (second: number) => new Date(second * 1000).toISOString();
  const phase = (kind: PhaseKind, run: number | null, from: number, to: number | null, within: PhaseKind | null = null) => ({ kind, run, began_at: at(from), ended_at: to === null ? null : at(to), within, step: null, reason: null, image: null });
  const told = [phase("queued", null, 0, 10), phase("preparing", 2, 10, 14), phase("restoring", 2, 11, 14, "preparing"), phase("training", 2, 14, null), phase("writing_checkpoint", 2, 20, 22, "training")];
  it("are summed up, and open phases end now", () => {
    const phases = phasesUntil(30_000, told);
    expect([...sums(phases)]).toEqual([["queued", 10], ["preparing", 4], ["training", 16]]);
    expect(mainOf(phases).filter(isAgain).map(({ from }) => from)).toEqual([10_000]);
  });
});

describe("the events of a trial", () => {
  const at = (second: number) => new Date(second * 1000).toISOString();
  const run = { number: 1, members: [{ worker: "w1", slots: 2 }], granted_at: at(10), ended_at: at(30), outcome: "failed", reason: "killed", exit_code: 3, charged: true } as never;
  const line = (second: number, text: string) => ({ time: at(second), cursor: "1.70", level: "warning", text }) as never;
  const saved = { id: "c1", created_at: at(20), state: "saved", step: 40, size_bytes: 2000, reason: null } as never;
  const trial = { created_at: at(0), ended_at: at(30), state: "error", reason: "no restarts are left" } as const;
  it("are sorted newest first, with reasons", () => {
    const events = eventsOf({ trial, runs: [run], checkpoints: [saved], lines: [] });
    expect(events.map(({ state, why }) => [state, why])).toEqual([
      ["error", "no restarts are left"],
      ["failed", "killed; exit code 3; counted as a restart"],
      ["saved", null],
      ["granted", null],
      ["queued", null],
    ]);
  });
  it("include the platform's log lines except those that repeat the end of a run", () => {
    const events = eventsOf({ trial, runs: [run], checkpoints: [], lines: [line(15, "the disk is nearly full"), line(30, "run 1: kill")] });
    expect(events.filter(({ line: where }) => where)).toMatchObject([{ text: "the disk is nearly full", line: { since: at(15), line: "1.70" } }]);
  });
});

it("lists the differences of configs by dotted names", () => {
  expect(differences([{ a: { b: 1, c: [1] }, d: null }, { a: { b: 2, c: [1] } }])).toEqual([{ name: "a.b", values: [1, 2] }]);
});

it("reads only valid names to compare", () => {
  expect(readCompareSearch({ trials: "1.2, 3.4,<b>,1.2,5", experiments: 7 })).toMatchObject({ trials: "1.2,3.4", experiments: "7" });
});
