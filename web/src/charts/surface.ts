/** Interpolates the results of trials on a grid of two hyperparameters, only near trials. Pure. */
import { isWide } from "./relations";

export interface SurfacePoint {
  x: number;
  y: number;
  value: number;
}

export interface SurfaceCell {
  left: number;
  right: number;
  bottom: number;
  top: number;
  value: number;
}

const CELLS = 40;
/** Bandwidth as a share of the axis (Nadaraya–Watson estimate with a Gaussian kernel). */
const REACH = 0.08;
/** Below this total weight, no trial is near. */
const LEAST_WEIGHT = 0.05;

/** Returns the cells near trials; none if an axis has a single value. */
export function surfaceOf(points: readonly SurfacePoint[]): SurfaceCell[] {
  const sound = points.filter(({ x, y, value }) => [x, y, value].every(Number.isFinite));
  const [across, up] = [scaleOf(sound.map(({ x }) => x)), scaleOf(sound.map(({ y }) => y))];
  if (across === null || up === null) return [];
  const known = sound.map(({ x, y, value }) => ({ x: across.to(x), y: up.to(y), value }));
  const cells: SurfaceCell[] = [];
  for (let column = 0; column < CELLS; column += 1) {
    for (let row = 0; row < CELLS; row += 1) {
      const value = estimate(known, (column + 0.5) / CELLS, (row + 0.5) / CELLS);
      if (value === null) continue;
      cells.push({ left: across.from(column / CELLS), right: across.from((column + 1) / CELLS), bottom: up.from(row / CELLS), top: up.from((row + 1) / CELLS), value });
    }
  }
  return cells;
}

function estimate(known: readonly SurfacePoint[], x: number, y: number): number | null {
  let [weight, sum] = [0, 0];
  for (const point of known) {
    const near = Math.exp(-((point.x - x) ** 2 + (point.y - y) ** 2) / (2 * REACH ** 2));
    weight += near;
    sum += near * point.value;
  }
  return weight < LEAST_WEIGHT ? null : sum / weight;
}

interface Scale {
  to: (value: number) => number;
  from: (part: number) => number;
}

/** Scales an axis to 0…1, logarithmically if the plot's axis is logarithmic. */
function scaleOf(values: readonly number[]): Scale | null {
  const [scale, back] = isWide(values) ? [Math.log, Math.exp] : [Number, Number];
  const [least, greatest] = [scale(Math.min(...values)), scale(Math.max(...values))];
  if (!(least < greatest)) return null;
  return { to: (value) => (scale(value) - least) / (greatest - least), from: (part) => back(least + part * (greatest - least)) };
}
