import { describe, expect, it } from "vitest";
import { surfaceOf } from "@/charts/surface";

const slope = Array.from({ length: 100 }, (_, at) => ({ x: at % 10, y: Math.floor(at / 10), value: at % 10 }));
const at = (cells: ReturnType<typeof surfaceOf>, x: number, y: number) => cells.find(({ left, right, bottom, top }) => left <= x && x < right && bottom <= y && y < top)?.value;

describe("the interpolation between trials", () => {
  it("follows the results", () => {
    const cells = surfaceOf(slope);
    expect(cells).toHaveLength(40 * 40);
    expect(at(cells, 2, 5)).toBeCloseTo(2, 0);
    expect(at(cells, 7.4, 5)).toBeCloseTo(7.4, 0);
    expect(Math.min(...cells.map(({ value }) => value))).toBeGreaterThanOrEqual(0);
  });

  it("is blank far from all trials", () => {
    const cells = surfaceOf([{ x: 0, y: 0, value: 1 }, { x: 1, y: 1, value: 2 }]);
    expect(at(cells, 0.01, 0.01)).toBeCloseTo(1);
    expect(at(cells, 0.1, 0.9)).toBeUndefined();
  });

  it("is logarithmic if the axis is", () => {
    const cells = surfaceOf([{ x: 1e-4, y: 0, value: 1 }, { x: 1e-2, y: 1, value: 2 }, { x: 1, y: 0, value: 3 }]);
    const first = cells[0];
    expect((first?.right ?? 0) / (first?.left ?? 1)).toBeCloseTo(1e4 ** (1 / 40));
    expect(at(cells, 1.05e-4, 0)).toBeCloseTo(1);
    expect(at(cells, 0.99, 0)).toBeCloseTo(3);
  });

  it("is empty for categories, a single value and non-finite results", () => {
    expect(surfaceOf([{ x: NaN, y: 1, value: 1 }, { x: NaN, y: 2, value: 2 }])).toEqual([]);
    expect(surfaceOf([{ x: 1, y: 1, value: 1 }, { x: 1, y: 2, value: 2 }])).toEqual([]);
    expect(surfaceOf([{ x: 1, y: 1, value: Infinity }, { x: 2, y: 2, value: NaN }])).toEqual([]);
    expect(surfaceOf([])).toEqual([]);
  });
});
