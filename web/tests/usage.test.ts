import { describe, expect, it } from "vitest";
import { daysBetween, seriesOf, withRest } from "@/charts/days";
import { readClusterSearch } from "@/cluster/search";
import { costName, lastDays, totalsOf, usageName } from "@/cluster/usage";
import type { MachineCost, UsageRow } from "@/cluster/data";

describe("usage by day", () => {
  it("contains each UTC day of the period, whose end is exclusive", () => {
    expect(daysBetween("2026-10-31T00:00:00Z", "2026-11-02T00:00:00Z")).toEqual(["2026-10-31", "2026-11-01"]);
    expect(daysBetween("2026-10-31T23:59:00Z", "2026-11-01T00:00:01Z")).toEqual(["2026-10-31", "2026-11-01"]);
    expect(daysBetween("2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z")).toEqual([]);
  });

  it("is sorted by total, with zeros for empty days, and ignores other days", () => {
    const days = ["2026-11-01", "2026-11-02", "2026-11-03"];
    const amount = (at: number, name: string, value: number) => ({ day: days[at] ?? "2026-12-01", name, value });
    const series = seriesOf([amount(0, "b", 1), amount(2, "a", 3), amount(0, "b", 1), amount(7, "c", 9)], days);
    expect(series).toEqual([
      { name: "a", total: 3, values: [0, 0, 3] },
      { name: "b", total: 2, values: [2, 0, 0] },
    ]);
  });

  it("sums up the series without a colour, unless it is only one", () => {
    const series = [5, 4, 3, 2].map((value, at) => ({ name: `s${at}`, total: value, values: [value] }));
    expect(withRest(series, 2).map(({ name, values }) => [name, values[0]])).toEqual([["s0", 5], ["s1", 4], ["2 others", 5]]);
    expect(withRest(series, 3).map(({ name }) => name)).toEqual(["s0", "s1", "s2", "s3"]);
  });
});

describe("rows of usage and cost", () => {
  it("are named by their key, also without a value", () => {
    const row = { experiment: 31, experiment_name: "digits", workspace: "vision", user: "", slot_seconds: 1 } as UsageRow;
    expect(usageName(row, "experiment")).toBe("31 digits");
    expect([usageName(row, "user"), usageName(row, "label"), usageName(row, "workspace")]).toEqual(["unknown", "no label", "vision"]);
    expect(usageName({ slot_seconds: 1 } as UsageRow, "experiment")).toBe("deleted experiments");
    expect(costName({ purchase: "on_demand", kind: "p5" } as MachineCost, "purchase")).toBe("on demand");
  });

  it("are summed by name and sorted by the measure", () => {
    const rows = [{ name: "a", hours: 1, cost: 2 }, { name: "b", hours: 5, cost: 0 }, { name: "a", hours: 2, cost: 0.5 }];
    expect(totalsOf(rows, "hours")).toEqual([{ name: "b", hours: 5, cost: 0 }, { name: "a", hours: 3, cost: 2.5 }]);
    expect(totalsOf(rows, "cost").map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it("are requested for days that end today", () => {
    expect(lastDays(30, new Date("2026-03-01T00:30:00Z"))).toEqual(["2026-01-31", "2026-03-01"]);
  });

  it("are read from valid URLs only", () => {
    expect(readClusterSearch({ by: "user", days: "90", measure: "cost" })).toMatchObject({ by: "user", days: 90, measure: "cost" });
    expect(readClusterSearch({ days: "4000", measure: "x" })).toMatchObject({ days: undefined, measure: undefined });
  });
});
