import { describe, expect, it } from "vitest";
import { bestSoFar, bounds, logMarks, nearest, smoothed, valueAt, type Curve, type Ranges } from "@/charts/curve";

const row = (...values: number[]) => Float64Array.from(values);
const curve = (id: string, x: number[], y: number[]): Curve => ({ id, label: id, x: row(...x), y: row(...y) });

describe("smoothing", () => {
  it("starts at the first value and keeps NaN in place", () => {
    expect([...smoothed(row(4, 4, NaN, 4), 0.9)]).toEqual([4, 4, NaN, 4]);
  });
  it("moves slowly with a high weight", () => {
    const [, slow] = smoothed(row(0, 1), 0.9);
    const [, fast] = smoothed(row(0, 1), 0.1);
    expect(slow).toBeLessThan(fast as number);
  });
});

describe("bounds", () => {
  it("contain the visible points only", () => {
    const { x, y } = bounds([curve("a", [0, 1, 2, 3], [100, 1, 2, 3])], [1, 2], false, false);
    expect(x).toEqual([1, 2]);
    expect(y[0]).toBeCloseTo(0.94);
    expect(y[1]).toBeCloseTo(2.06);
  });
  it("ignore values that a logarithmic axis cannot show", () => {
    const { y } = bounds([curve("a", [1, 2, 3], [-5, 0, 10])], null, false, true);
    expect(y[0]).toBeGreaterThan(0);
  });
  it("stay while curves fit, and get free space when they do not", () => {
    const grow = (last: number, before: Ranges | null) => bounds([curve("a", [0, last], [0, 1 + last / 1000])], null, false, false, before);
    const first = grow(80, null);
    expect(first.x).toEqual([0, 80]);
    const next = grow(81, first);
    expect(next.x[1]).toBeGreaterThan(88);
    expect(grow(88, next)).toEqual(next);
    expect(next.y).toEqual(first.y);
    expect(grow(20, next).x).toEqual([0, 20]);
  });
  it("are valid for an empty chart and a single value", () => {
    expect(bounds([], null, false, false).y).toEqual([0, 1]);
    const { y } = bounds([curve("a", [1], [5])], null, false, false);
    expect(y[1] - y[0]).toBeGreaterThan(0);
  });
});

it("finds the curve under the pointer, also between points", () => {
  const curves = [curve("low", [0, 10], [0, 0]), curve("high", [0, 10], [0, 10])];
  expect(nearest(curves, 5, 4, (one, other) => Math.abs(one - other), 3)?.id).toBe("high");
  expect(nearest(curves, 5, 50, (one, other) => Math.abs(one - other), 3)).toBeNull();
  expect(valueAt(curves[1] as Curve, 11)).toBeNaN();
});

it("draws the best so far as steps up to the last trial", () => {
  const { x, y } = bestSoFar([{ x: 3, y: 0.5 }, { x: 1, y: 0.7 }, { x: 2, y: 0.9 }, { x: 4, y: NaN }, { x: 5, y: 0.6 }], true);
  expect([...x]).toEqual([1, 3, 3, 5]);
  expect([...y]).toEqual([0.7, 0.7, 0.5, 0.5]);
});

describe("logarithmic axes", () => {
  it("have round marks, as many as fit", () => {
    expect(logMarks([1, 9], 5)).toEqual([1, 2, 5]);
    expect(logMarks([0.0008, 0.12], 9)).toEqual([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]);
    expect(logMarks([1, 1e6], 5)).toEqual([1, 100, 1e4, 1e6]);
    expect(logMarks([0.931, 0.974], 5)).toEqual([0.94, 0.95, 0.96, 0.97]);
  });

  it("treat rounding noise as one value", () => {
    const { y } = bounds([curve("a", [1, 2, 3], [...smoothed(Float64Array.of(0.070855, 0.070855, 0.070855), 0.6), 0.07085500000000001])], null, false, true);
    expect(y[0]).toBeCloseTo(0.0354);
    expect(y[1]).toBeCloseTo(0.1417);
  });
});
