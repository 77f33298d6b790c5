/**
 * Lines by the thousand into pixels. A canvas strokes two million segments in seconds; here each costs the few pixels that it covers.
 * Pure but for the pixels it is given.
 */
import type { Curve } from "./curve";

export interface Pixels {
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

export type Rgb = readonly [number, number, number];

/** From values to pixels along one axis: `offset + factor · value`, of its logarithm where that is asked. */
export interface Axis {
  offset: number;
  factor: number;
  isLog: boolean;
}

/** The axis on which `low` falls on `from` and `high` on `to`. */
export function axisOf(low: number, high: number, from: number, to: number, isLog: boolean): Axis {
  const [a, b] = isLog ? [Math.log10(low), Math.log10(high)] : [low, high];
  const factor = (to - from) / (b - a);
  return { offset: from - a * factor, factor, isLog };
}

/** Where a value falls; NaN for what a logarithmic axis cannot show. */
export function along(axis: Axis, value: number): number {
  if (!axis.isLog) return axis.offset + axis.factor * value;
  return value > 0 ? axis.offset + axis.factor * Math.log10(value) : NaN;
}

/** Draws one curve over what is there, `thick` pixels wide and as opaque as `alpha`. */
export function rasterise(pixels: Pixels, curve: Pick<Curve, "x" | "y">, xAxis: Axis, yAxis: Axis, colour: Rgb, alpha: number, thick: number): void {
  const { x, y } = curve;
  let [x0, y0] = [NaN, NaN];
  for (let at = 0; at < x.length; at++) {
    const x1 = along(xAxis, x[at] as number);
    const y1 = along(yAxis, y[at] as number);
    if (x0 <= x1 && y0 - y0 === 0 && y1 - y1 === 0) segment(pixels, x0, y0, x1, y1, colour, alpha, thick / 2);
    x0 = x1;
    y0 = y1;
  }
}

function segment(pixels: Pixels, x0: number, y0: number, x1: number, y1: number, colour: Rgb, alpha: number, half: number): void {
  const slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : 0;
  // A slanted line is as thick across as a level one: it covers more of each column.
  const reach = half * Math.min(Math.sqrt(1 + slope * slope), 6);
  const last = Math.min(pixels.width - 1, Math.floor(x1));
  for (let column = Math.max(0, Math.floor(x0)); column <= last; column++) {
    const left = Math.max(x0, column);
    const right = Math.min(x1, column + 1);
    const part = right - left;
    if (part <= 0) continue;
    const ya = y0 + slope * (left - x0);
    const yb = y0 + slope * (right - x0);
    span(pixels, column, Math.min(ya, yb) - reach / 2 - half / 2, Math.max(ya, yb) + reach / 2 + half / 2, colour, alpha * part);
  }
}

/** Covers a column from `low` to `high`, the ends in part. */
function span(pixels: Pixels, column: number, low: number, high: number, colour: Rgb, alpha: number): void {
  const { data, width, height } = pixels;
  const last = Math.min(height - 1, Math.floor(high));
  for (let row = Math.max(0, Math.floor(low)); row <= last; row++) {
    const top = low > row ? low : row;
    const foot = high < row + 1 ? high : row + 1;
    const over = alpha * (foot - top);
    const at = (row * width + column) * 4;
    const under = (data[at + 3] as number) / 255;
    const sum = over + under * (1 - over);
    if (sum <= 0) continue;
    const share = over / sum;
    data[at] = (data[at] as number) + (colour[0] - (data[at] as number)) * share;
    data[at + 1] = (data[at + 1] as number) + (colour[1] - (data[at + 1] as number)) * share;
    data[at + 2] = (data[at + 2] as number) + (colour[2] - (data[at + 2] as number)) * share;
    data[at + 3] = sum * 255;
  }
}
