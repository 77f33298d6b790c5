import { describe, expect, it } from "vitest";
import { curveOf, partsOf, type CurvesAsked } from "@/training/curves";
import { Reported, extended } from "@/training/reported";
import { readChartSearch, readZoom } from "@/training/chartSearch";
import type { BestCheckpoint } from "@/api/types";
import { bestOf, checkpointNote } from "@/experiment/best";
import { bestOrOdd, isOdd, metricColumn, metricsAmong, type TrialRow } from "@/training/rows";

type NotFinite = "nan" | "infinity" | "negative_infinity";

const metric = { group: "validation", name: "loss" };
const asked: CurvesAsked = { metric, x: "step", epochs: { group: "validation", name: "epoch" }, zoom: null };
const row = (number: number, step: number | null, last: number | string | null = 1): TrialRow => ({
  trial: `t${number}`,
  experiment_number: 3,
  number,
  state: "running",
  values: { "metrics.validation.loss.last_step": step, "metrics.validation.loss.last": last },
});
const point = (step: number, value: number | null, run = 1, second = step) => ({ step, value, run, time: new Date(second * 1000).toISOString(), not_finite: (value === null ? "nan" : null) as NotFinite | null });
const value = (trial: string, step: number) => ({ ...point(step, 1), trial, trial_number: 1, group: "validation", name: "loss", cursor: "" });
const series = (name: string, points: ReturnType<typeof point>[]) => ({ group: "validation", name, count: points.length, points });

describe("curves are loaded", () => {
  it("in chunks of one response, for trials that have reported", () => {
    const parts = partsOf([...Array.from({ length: 120 }, (_, at) => row(at + 1, 10)), row(121, null)], asked);
    expect(parts.map(({ trials }) => trials.length)).toEqual([50, 50, 20]);
    for (const { trials, maxPoints } of parts) expect(trials.length * maxPoints).toBeLessThanOrEqual(6000);
  });
  it("again only for the chunk whose trials have reported more", () => {
    const before = Array.from({ length: 60 }, (_, at) => row(at + 1, 10));
    const after = before.map((one) => (one.number === 55 ? row(55, 11) : one));
    const [one, two] = [partsOf(before, asked), partsOf(after, asked)];
    expect(two[0]?.stand).toBe(one[0]?.stand);
    expect(two[1]?.stand).not.toBe(one[1]?.stand);
  });
  it("by rounds with live reports, whichever trial is the best", () => {
    const live = new Reported();
    const rows = [row(2, 10), row(1, 10), row(3, null)];
    const moved = [row(1, 99), row(2, 99), row(3, null)];
    expect(partsOf(moved, asked, live)).toEqual(partsOf(rows, asked, live));
    live.take(value("t3", 1));
    expect(partsOf(rows, asked, live)[0]?.trials).toEqual(["t1", "t2", "t3"]);
    const before = partsOf(rows, asked, live)[0]?.stand;
    live.nextRound();
    expect(partsOf(rows, asked, live)[0]?.stand).not.toBe(before);
  });
});

describe("live reports", () => {
  it("continue after the response, each step once", () => {
    const known = [point(1, 4), point(2, 3)];
    expect(extended(known, [point(2, 3), point(3, 2), point(4, null)]).map(({ step }) => step)).toEqual([1, 2, 3, 4]);
    expect(extended(known, [point(1, 4), point(2, 3)])).toBe(known);
  });
  it("of a later run replace those of an earlier one from its first step", () => {
    const known = [point(1, 4), point(2, 3), point(3, 2)];
    const found = extended(known, [point(2, 2.5, 2), point(4, 1, 1), point(3, 2.25, 2)]);
    expect(found.map(({ step, value: told }) => [step, told])).toEqual([[1, 4], [2, 2.5], [3, 2.25]]);
  });
  it("keep the same list until a trial reports more", () => {
    const live = new Reported();
    live.take(value("t1", 1));
    live.take(value("t2", 1));
    const [one, two] = [live.of("t1"), live.of("t2")];
    live.take(value("t1", 2));
    expect(live.of("t2")).toBe(two);
    expect([one, live.of("t1")].map((points) => points.map(({ step }) => step))).toEqual([[1], [1, 2]]);
    live.nextRound();
    expect(live.of("t1").length).toBe(2);
  });
  it("are kept for two rounds and stay bounded", () => {
    const live = new Reported();
    for (let step = 0; step < 1000; step++) {
      live.take(value("t1", step));
      expect(live.of("t1").at(-1)?.step).toBe(step);
    }
    expect(live.round).toBeGreaterThan(4);
    expect(live.of("t1").length).toBeLessThan(250);
    expect(live.of("t1").map(({ step }) => step)).toEqual(Array.from(live.of("t1"), (_, at) => 1000 - live.of("t1").length + at));
  });
});

describe("a curve", () => {
  it("shows interruptions of runs and non-finite values", () => {
    const [curve] = curveOf(row(1, 3), [series("loss", [point(1, 4), point(2, null), point(3, 2, 2)])], asked);
    expect([...(curve?.y ?? [])]).toEqual([4, NaN, 2]);
    expect(curve?.restarts).toEqual([2]);
    expect(curve?.label).toBe("3.1");
  });
  it("by time never goes back, whatever the clocks report", () => {
    const [curve] = curveOf(row(1, 3), [series("loss", [point(1, 4, 1, 10), point(2, 3, 1, 14), point(3, 2, 2, 12)])], { ...asked, x: "time" });
    expect([...(curve?.x ?? [])]).toEqual([0, 4, 4]);
  });
  it("by epoch is interpolated between reported epochs", () => {
    const told = [series("loss", [point(10, 4), point(15, 3), point(20, 2)]), series("epoch", [point(10, 1), point(20, 2)])];
    const [curve] = curveOf(row(1, 20), told, { ...asked, x: "epoch" });
    expect([...(curve?.x ?? [])]).toEqual([1, 1.5, 2]);
  });
});

describe("a non-finite value", () => {
  it("is distinguished from a missing value", () => {
    expect(isOdd(row(1, 30, "NaN"), metric)).toBe(true);
    expect(isOdd(row(1, null, null), metric)).toBe(false);
    expect([row(1, 30, "-Infinity"), row(1, 30, 0.5), row(1, null, null)].map((one) => bestOrOdd(one, metric))).toEqual([-Infinity, null, null]);
  });
  it("is on its curve, from responses and from the stream", () => {
    const told = [point(1, 4), point(2, null), { ...point(3, null), not_finite: "infinity" as const }, { ...point(4, null), not_finite: "negative_infinity" as const }];
    const [curve] = curveOf({ trial: "t1", experiment_number: 3, number: 1, state: "running" }, [series("loss", told)], asked);
    expect([...(curve?.y ?? [])]).toEqual([4, NaN, Infinity, -Infinity]);
  });
});

describe("the best trial", () => {
  const best = { trial: "t2", trial_number: 2, value: 0.5, step: 7, others: {}, checkpoint: null };
  const leader = { ...row(1, 30), values: { best: 0.25 } };
  it("is the search's best, and the first row until there is one", () => {
    expect(bestOf({ best }, [leader])).toBe(best);
    expect(bestOf({ best: null }, [leader])).toMatchObject({ trial: "t1", value: 0.25, step: null });
  });
  it("has a note about its checkpoint", () => {
    const told = (checkpoint: BestCheckpoint | null) => checkpointNote({ ...best, checkpoint });
    expect(told({ id: "c1", state: "saved", reason: null })).toBeNull();
    expect(told(null)).toBeNull();
    expect(told({ id: null, state: null, reason: null })).toBe("No checkpoint of this step is stored");
    expect(told({ id: "c1", state: "abandoned", reason: "worker w is lost for good" })).toBe("The checkpoint of this step is abandoned: worker w is lost for good");
    expect(told({ id: "c1", state: "uploading", reason: null })).toBe("The checkpoint of this step is still being uploaded");
  });
  it("is null without finite values", () => {
    expect(bestOf({ best: null }, [{ ...leader, values: { best: null } }])).toBeNull();
    expect(bestOf({ best: null }, [])).toBeNull();
  });
});

it("finds the metrics among the columns, validation first", () => {
  expect(metricsAmong(["best", "hparams.lr", "metrics.training.loss", "metrics.validation.a.b"])).toEqual([
    { group: "validation", name: "a.b" },
    { group: "training", name: "loss" },
  ]);
});

it("quotes unusual metric names and parses them back", () => {
  const metric = { group: "validation", name: 'top 5 "strict".max' };
  expect(metricColumn(metric, "last")).toBe('metrics.validation."top 5 \\"strict\\".max".last');
  expect(metricsAmong(['metrics.validation."top 5 \\"strict\\".max"'])).toEqual([metric]);
  expect(metricColumn({ group: "training", name: "loss/a" }, "best")).toBe("metrics.training.loss/a.best");
});

it("reads only valid chart state from a URL", () => {
  expect(readChartSearch({ x: "evil", log: "yx", smooth: "7", zoom: "9:1" })).toEqual({});
  expect(readZoom("1.5:20")).toEqual([1.5, 20]);
});
