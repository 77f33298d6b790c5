import uPlot from "uplot";
import { expect, it } from "vitest";
import type { Curve } from "@/charts/curve";
import { drawCurves } from "@/charts/lines";

uPlot.pxRatio = 1;
const COLOURS = { tones: ["one", "two", "three", "four", "five", "six", "seven", "eight"], bad: "bad", ground: "ground" };

/** A chart of 100 pixels each way for values from 1 to 100, and the strokes on its canvas. */
function chart(distr: 1 | 3 = 1) {
  const strokes: { colour: string; width: number; points: string }[] = [];
  let points: string[] = [];
  const ctx = {
    strokeStyle: "", lineWidth: 0, save() {}, restore() {}, rect() {}, clip() {}, arc() {}, fill() {},
    beginPath: () => (points = []),
    moveTo: (x: number, y: number) => points.push(`M${Math.round(x)},${Math.round(y)}`),
    lineTo: (x: number, y: number) => points.push(`L${Math.round(x)},${Math.round(y)}`),
    stroke: () => strokes.push({ colour: ctx.strokeStyle, width: ctx.lineWidth, points: points.join(" ") }),
  };
  const part = (value: number, key: string) => (key === "y" && distr === 3 ? Math.log10(value) / 2 : (value - 1) / 99);
  const scales = { x: { min: 1, max: 100, distr: 1 }, y: { min: 1, max: 100, distr } };
  const valToPos = (value: number, key: string) => 100 * (key === "x" ? part(value, key) : 1 - part(value, key));
  return { plot: { ctx, scales, valToPos, bbox: { left: 0, top: 0, width: 100, height: 100 } } as unknown as uPlot, strokes };
}

const curve = (id: string, x: number[], y: number[], more: Partial<Curve> = {}): Curve => ({ id, label: id, x: Float64Array.from(x), y: Float64Array.from(y), ...more });

it("draws a curve by its values, interrupted by a cross at the foot where one is not finite", () => {
  const { plot, strokes } = chart();
  drawCurves(plot, [curve("a", [1, 25.75, 50.5, 75.25, 100], [1, 50.5, NaN, 50.5, 100])], null, COLOURS);
  expect(strokes.map(({ colour }) => colour)).toEqual(["one", "bad"]);
  expect(strokes[0]?.points).toBe("M0,100 L25,50 M75,50 L100,0");
  expect(strokes[1]?.points).toContain("M47,90");
});

it("interrupts a curve at values that a logarithmic axis cannot show", () => {
  const { plot, strokes } = chart(3);
  drawCurves(plot, [curve("a", [1, 25.75, 50.5, 100], [1, 10, 0, 100])], null, COLOURS);
  expect(strokes.map(({ points }) => points)).toEqual(["M0,100 L25,50 M100,0"]);
});

it("marks resumed runs and the end of a trial in error", () => {
  const { plot, strokes } = chart();
  drawCurves(plot, [curve("a", [1, 100], [1, 100], { restarts: [1], isBroken: true })], null, COLOURS);
  expect(strokes.map(({ colour }) => colour)).toEqual(["one", "one", "bad"]);
  expect(strokes[2]?.points).toContain("L103,3");
});

it("draws the highlighted curve last and wider", () => {
  const { plot, strokes } = chart();
  drawCurves(plot, [curve("best", [1, 100], [1, 1]), curve("b", [1, 100], [1, 100])], "best", COLOURS);
  expect(strokes.map(({ colour }) => colour)).toEqual(["two", "one"]);
  expect(strokes[1]?.width).toBeGreaterThan(strokes[0]?.width as number);
});

it("draws dense charts with lines of one pixel", () => {
  const { plot, strokes } = chart();
  const many = Array.from({ length: 5000 }, (_, at) => 1 + at / 60);
  drawCurves(plot, [curve("a", many, many)], null, COLOURS);
  expect(strokes.map(({ width }) => width)).toEqual([1]);
});
