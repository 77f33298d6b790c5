import { describe, expect, it } from "vitest";
import { STATES as TABS } from "@/experiments/query";
import { STATES } from "@/experiments/filters";
import { readListSearch } from "@/experiments/search";
import { metricsOf } from "@/models/data";
import { endedOf, stateOf } from "@/training/states";

const NONE = { queued: 0, running: 0, parked: 0, stopping: 0, finishing: 0, completed: 0, stopped: 0, error: 0, cancelled: 0, invalid: 0, planned: null };

describe("the state of an experiment", () => {
  it("is pausing until its trials have released their slots", () => {
    const of = (state: "paused" | "active", trials: object) => stateOf({ state, trials: { ...NONE, ...trials } });
    expect(of("paused", { running: 1, parked: 3 })).toBe("pausing");
    expect(of("paused", { stopping: 1 })).toBe("pausing");
    expect(of("paused", { parked: 4, finishing: 1 })).toBe("paused");
    expect(of("active", { running: 1 })).toBe("active");
  });

  it("has the same word in its badge and in the tab above the list", () => {
    for (const [name, { label, filter }] of Object.entries(TABS)) {
      expect(STATES as readonly string[]).toContain(name);
      expect(label.toLowerCase()).toBe(name);
      expect(filter).toContain(name);
    }
  });

  it("is found by the former names of the tabs, which links and saved views contain", () => {
    expect(readListSearch({ state: "running" }).state).toBe("active");
    expect(readListSearch({ state: "failed" }).state).toBe("error");
    expect(readListSearch({ group: "failed" }).state).toBe("error");
    expect(readListSearch({ state: "paused" }).state).toBe("paused");
  });
});

it("counts trials as ended however they ended, like the command line", () => {
  expect(endedOf({ ...NONE, completed: 1, stopped: 2, error: 4, cancelled: 8, invalid: 16, running: 32 })).toBe(15);
});

it("shows the metrics of a version that are not finite, too", () => {
  expect(metricsOf({ lineage: { metrics: { loss: 0.5 }, not_finite: { perplexity: "infinity" } } } as never)).toEqual({ loss: 0.5, perplexity: "infinity" });
});
