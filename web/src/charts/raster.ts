/**
 * Lines by the thousand into pixels. A canvas strokes two million segments in seconds; here each costs the few pixels that it covers.
 * Pure but for the pixels it is given.
 */
import type { Curve } from "./curve";

/** How much of each pixel the lines of one colour cover, from 0 to 1; column by column, as steep lines go. */
export interface Cover {
  data: Float32Array;
  width: number;
  height: number;
}

export type Rgb = readonly [number, number, number];

export function blank(width: number, height: number): Cover {
  return { data: new Float32Array(width * height), width, height };
}

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

/** Covers what one curve lies over, `thick` pixels wide and as opaque as `alpha`; only behind its point `from`, where the rest is covered already. */
export function rasterise(cover: Cover, curve: Pick<Curve, "x" | "y">, xAxis: Axis, yAxis: Axis, alpha: number, thick: number, from = 0): void {
  const { x, y } = curve;
  const { data, width, height } = cover;
  const half = thick / 2;
  const isStraight = !xAxis.isLog && !yAxis.isLog;
  const { offset: left, factor: across } = xAxis;
  const { offset: top, factor: down } = yAxis;
  let x0 = NaN;
  let y0 = NaN;
  for (let at = from; at < x.length; at++) {
    const x1 = isStraight ? left + across * (x[at] as number) : along(xAxis, x[at] as number);
    const y1 = isStraight ? top + down * (y[at] as number) : along(yAxis, y[at] as number);
    // What is no number differs from itself, and so does the difference of infinities.
    if (x0 <= x1 && y0 - y0 === 0 && y1 - y1 === 0) segment(data, width, height, x0, y0, x1, y1, alpha, half);
    x0 = x1;
    y0 = y1;
  }
}

function segment(data: Float32Array, width: number, height: number, x0: number, y0: number, x1: number, y1: number, alpha: number, half: number): void {
  const slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : 0;
  // A slanted line is as thick across as a level one: it covers more of each column.
  const reach = (half + half * (slope > 6 || slope < -6 ? 6 : Math.sqrt(1 + slope * slope))) / 2;
  // Cut off by bits, as all of them are above zero and small.
  const last = x1 < 0 ? -1 : x1 < width ? x1 | 0 : width - 1;
  for (let column = x0 > 0 ? x0 | 0 : 0; column <= last; column++) {
    const left = x0 > column ? x0 : column;
    const right = x1 < column + 1 ? x1 : column + 1;
    const over = alpha * (right - left);
    if (over <= 0) continue;
    const ya = y0 + slope * (left - x0);
    const yb = y0 + slope * (right - x0);
    const low = (ya < yb ? ya : yb) - reach;
    const high = (ya < yb ? yb : ya) + reach;
    const head = low > 0 ? low | 0 : 0;
    const foot = high < 0 ? -1 : high < height ? high | 0 : height - 1;
    const end = column * height + foot;
    for (let place = column * height + head; place <= end; place++) {
      const before = data[place] as number;
      const row = place - end + foot;
      // Between its ends a steep line covers rows whole, which are most of them.
      const part = row > head && row < foot ? 1 : (high < row + 1 ? high : row + 1) - (low > row ? low : row);
      data[place] = before + over * part * (1 - before);
    }
  }
}

/**
 * Lays the covers over one another, each in its colour, into pixels of red, green, blue and opacity, row by row: those of the columns
 * from `first` to `last`. What was in these is gone.
 */
export function compose(covers: readonly Cover[], colours: readonly Rgb[], pixels: Uint8ClampedArray, first: number, last: number): void {
  const { width, height } = covers[0] as Cover;
  const layers = covers.map(({ data }) => data);
  const flat = Float64Array.from(colours.flat());
  for (let column = first; column <= last; column++) {
    for (let row = 0; row < height; row++) {
      const place = column * height + row;
      let red = 0;
      let green = 0;
      let blue = 0;
      let opacity = 0;
      for (let which = 0; which < layers.length; which++) {
        const over = (layers[which] as Float32Array)[place] as number;
        if (over === 0) continue;
        const under = 1 - over;
        red = red * under + (flat[3 * which] as number) * over;
        green = green * under + (flat[3 * which + 1] as number) * over;
        blue = blue * under + (flat[3 * which + 2] as number) * over;
        opacity = opacity * under + over;
      }
      const at = (row * width + column) * 4;
      const whole = opacity > 0 ? 1 / opacity : 0;
      pixels[at] = red * whole;
      pixels[at + 1] = green * whole;
      pixels[at + 2] = blue * whole;
      pixels[at + 3] = opacity * 255;
    }
  }
}
