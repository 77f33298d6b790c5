// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { pareto } from "@/experiment/plots";

const POINTS = [
  { label: "1.2", x: 0.3, y: 1 },
  { label: "1.1", x: 0.1, y: 3 },
];
const lineOf = (...objectives: { name: string; smaller_is_better?: boolean }[]) => (pareto(POINTS, objectives).series as { step?: string; lineStyle: { width: number }; data: { name: string }[] }[])[0];

describe("the Pareto front", () => {
  it("is a step line for both directions of metrics", () => {
    const line = lineOf({ name: "loss" }, { name: "size" });
    expect(line?.data.map(({ name }) => name)).toEqual(["1.1", "1.2"]);
    expect(line?.step).toBe("end");
    expect(lineOf({ name: "accuracy", smaller_is_better: false }, { name: "size" })?.step).toBe("start");
  });

  it("has points only with a third metric", () => {
    expect(lineOf({ name: "loss" }, { name: "size" }, { name: "latency" })?.lineStyle.width).toBe(0);
  });
});
