/** Computations on curves: smoothing, ranges, joining and hit tests. Pure. */

/** One curve of a chart. `y` contains NaN and infinities as the script reported them. */
export interface Curve {
  id: string;
  label: string;
  x: Float64Array;
  y: Float64Array;
  /** One of the eight series colours, from 1; undefined: by position. */
  tone?: number;
  /** Indices in `x` at which a new run starts. */
  restarts?: readonly number[];
  /** The trial ended in an error at the last point. */
  isBroken?: boolean;
}

export type Range = readonly [number, number];

export interface Ranges {
  x: Range;
  y: Range;
}

/** Exponential moving average with bias correction and a weight from 0 (none) to 1. NaN stays in place and is ignored. */
export function smoothed(y: Float64Array, weight: number): Float64Array {
  if (weight <= 0) return y;
  const found = new Float64Array(y.length);
  let sum = 0;
  let mass = 0;
  for (let at = 0; at < y.length; at++) {
    const value = y[at] as number;
    if (!Number.isFinite(value)) {
      found[at] = value;
      continue;
    }
    sum = sum * weight + value * (1 - weight);
    mass = mass * weight + (1 - weight);
    found[at] = sum / mass;
  }
  return found;
}

/** Returns the bounding box of the points of a curve within a range of x and above a minimum. */
function within(x: Float64Array, y: Float64Array, from: number, to: number, leastY: number): Ranges {
  let x0 = Infinity;
  let x1 = -Infinity;
  let y0 = Infinity;
  let y1 = -Infinity;
  for (let at = 0; at < x.length; at++) {
    const px = x[at] as number;
    const py = y[at] as number;
    if (!(px >= from && px <= to)) continue;
    if (px < x0) x0 = px;
    if (px > x1) x1 = px;
    if (!(py >= leastY) || py === Infinity || py === -Infinity) continue;
    if (py < y0) y0 = py;
    if (py > y1) y1 = py;
  }
  return { x: [x0, x1], y: [y0, y1] };
}

/** Curves must fill at least this share of a range that is kept. */
const LEAST_FILLED = 0.6;
/** Share of free space ahead of curves that have outgrown their range. */
const ROOM_TO_GROW = 0.125;

/**
 * Returns the ranges that hold the curves, limited to `zoom` in x, with padding above and below; logarithmic axes ignore values that are not positive.
 * `before`: the ranges of the same curves when they were shorter. They are kept while the curves fit, so that the axes do not move with each point.
 */
export function bounds(curves: readonly Curve[], zoom: Range | null, isLogX: boolean, isLogY: boolean, before: Ranges | null = null): Ranges {
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  const from = Math.max(zoom?.[0] ?? -Infinity, isLogX ? Number.MIN_VALUE : -Infinity);
  for (const curve of curves) {
    const box = within(curve.x, curve.y, from, zoom?.[1] ?? Infinity, isLogY ? Number.MIN_VALUE : -Infinity);
    [x0, x1] = [Math.min(x0, box.x[0]), Math.max(x1, box.x[1])];
    [y0, y1] = [Math.min(y0, box.y[0]), Math.max(y1, box.y[1])];
  }
  return { x: zoom ?? kept(before?.x, x0, x1, isLogX) ?? grown(before?.x, x0, x1, isLogX), y: kept(before?.y, y0, y1, isLogY) ?? ranged(y0, y1, 0.06, isLogY) };
}

/** Returns the previous range if the values still fit and mostly fill it. */
function kept(before: Range | undefined, low: number, high: number, isLog: boolean): Range | null {
  if (before === undefined || !(low >= before[0] && high <= before[1])) return null;
  const length = (from: number, to: number) => (isLog ? Math.log(to / from) : to - from);
  return length(low, high) >= LEAST_FILLED * length(...before) ? before : null;
}

/** Extends a range to the right if the previous one with the same start has become too short. */
function grown(before: Range | undefined, low: number, high: number, isLog: boolean): Range {
  const [from, to] = ranged(low, high, 0, isLog);
  const isLonger = before !== undefined && before[0] === from && before[1] < to;
  return [from, isLonger ? ranged(from, to, ROOM_TO_GROW, isLog)[1] : to];
}

function ranged(low: number, high: number, space: number, isLog: boolean): Range {
  if (low > high) return isLog ? [0.1, 10] : [0, 1];
  // Averages of a constant differ in the last digit; that is not a range.
  const isOne = high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high));
  if (isLog) return isOne ? [low / 2, high * 2] : [low / (high / low) ** space, high * (high / low) ** space];
  if (isOne) return [low - (Math.abs(low) * 0.1 || 0.5), high + (Math.abs(high) * 0.1 || 0.5)];
  return [low - (high - low) * space, high + (high - low) * space];
}

const LEADING = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1]];

/** Marks of a logarithmic axis: all digits times powers of ten, or 1, 2 and 5, or powers only, depending on the space; even steps if fewer than two fit. */
export function logMarks([low, high]: Range, most: number): number[] {
  const powers: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) powers.push(power);
  for (const leading of LEADING) {
    const marks = powers.flatMap((power) => leading.map((digit) => Number(`${digit}e${power}`))).filter((at) => at >= low && at <= high);
    if (marks.length < 2) return evenMarks(low, high, most);
    if (marks.length <= most) return marks;
  }
  const every = Math.ceil(powers.length / Math.max(1, most));
  return powers.filter((power) => power % every === 0 && 10 ** power >= low).map((power) => Number(`1e${power}`));
}

function evenMarks(low: number, high: number, most: number): number[] {
  const rough = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((times) => times * power >= rough) ?? 10);
  const marks: number[] = [];
  for (let at = Math.ceil(low / step); at * step <= high; at++) marks.push(Number((at * step).toPrecision(12)));
  return marks;
}

/** Returns the value of a curve at `x` by linear interpolation; NaN outside the curve. */
export function valueAt(curve: Pick<Curve, "x" | "y">, x: number): number {
  const { x: xs, y: ys } = curve;
  const right = firstFrom(xs, x);
  if (right >= xs.length) return NaN;
  if (xs[right] === x) return ys[right] as number;
  if (right === 0) return NaN;
  const [x0, x1, y0, y1] = [xs[right - 1] as number, xs[right] as number, ys[right - 1] as number, ys[right] as number];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** Returns the first index in a sorted list whose value is at least `wanted`. */
export function firstFrom(row: Float64Array, target: number): number {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((row[middle] as number) < target) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index in a sorted list whose value is nearest to `wanted`. */
export function nearestTo(row: Float64Array, target: number): number {
  const right = firstFrom(row, target);
  if (right === 0) return 0;
  if (right === row.length) return row.length - 1;
  return (row[right] as number) - target < target - (row[right - 1] as number) ? right : right - 1;
}

/** Returns the curve that is vertically nearest to a point, by `distance`; null if none is within `reach`. */
export function nearest(curves: readonly Curve[], x: number, y: number, distance: (one: number, other: number) => number, reach: number): Curve | null {
  let [found, least]: [Curve | null, number] = [null, reach];
  for (const curve of curves) {
    const away = distance(valueAt(curve, x), y);
    if (away <= least) [found, least] = [curve, away];
  }
  return found;
}

/** Returns the best value up to each point, as a step curve. */
export function bestSoFar(points: readonly { x: number; y: number }[], isSmallerBetter: boolean): { x: Float64Array; y: Float64Array } {
  const sorted = points.filter(({ y }) => Number.isFinite(y)).sort((one, other) => one.x - other.x);
  const xs: number[] = [];
  const ys: number[] = [];
  for (const { x, y } of sorted) {
    const before = ys.at(-1);
    if (before !== undefined && (isSmallerBetter ? y >= before : y <= before)) continue;
    if (before !== undefined) {
      xs.push(x);
      ys.push(before);
    }
    xs.push(x);
    ys.push(y);
  }
  const last = sorted.at(-1);
  if (last && ys.length > 0 && xs.at(-1) !== last.x) {
    xs.push(last.x);
    ys.push(ys.at(-1) as number);
  }
  return { x: Float64Array.from(xs), y: Float64Array.from(ys) };
}
