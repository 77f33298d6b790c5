/** What many curves are put together on. It keeps what it holds: curves that only grew cost what they grew by. */
import { along, blank, compose, rasterise, type Axis, type Cover, type Rgb } from "./raster";
import type { Curve } from "./curve";

/** One curve, and which of the colours it has. */
export interface Line {
  curve: Curve;
  tone: number;
}

/** How lines come into pixels: other than before means that all are put together anew. */
export interface Manner {
  xAxis: Axis;
  yAxis: Axis;
  colours: readonly Rgb[];
  /** How opaque one line is, and how many pixels wide. */
  alpha: number;
  thick: number;
}

/** Columns of pixels, the last one included. */
type Columns = readonly [first: number, last: number];

export class Sheet {
  private readonly covers: readonly Cover[];
  private held = new Map<string, Line>();
  private manner = "";

  constructor(
    /** Red, green, blue and opacity, row by row. */
    private readonly pixels: Uint8ClampedArray,
    private readonly width: number,
    height: number,
    tones: number,
  ) {
    this.covers = Array.from({ length: tones }, () => blank(width, height));
  }

  /** Shows these lines and no others; the columns whose pixels may be others now, null where none are. */
  show(lines: readonly Line[], manner: Manner): Columns | null {
    const said = JSON.stringify(manner);
    const isKept = this.manner === said && this.isContinuedBy(lines);
    if (!isKept) this.clear();
    this.manner = said;
    const columns = isKept ? this.columnsOfNew(lines, manner.xAxis) : ([0, this.width - 1] as const);
    for (const line of lines) this.draw(line, manner);
    if (columns !== null) compose(this.covers, manner.colours, this.pixels, ...columns);
    return columns;
  }

  private clear(): void {
    this.held.clear();
    for (const { data } of this.covers) data.fill(0);
  }

  /** True where each line that is held is among these, with all the points that it had. */
  private isContinuedBy(lines: readonly Line[]): boolean {
    const next = new Map(lines.map((line) => [line.curve.id, line]));
    return [...this.held].every(([id, line]) => {
      const other = next.get(id);
      return other !== undefined && other.tone === line.tone && begins(other.curve.x, line.curve.x) && begins(other.curve.y, line.curve.y);
    });
  }

  /** Where the points lie that are not held yet. */
  private columnsOfNew(lines: readonly Line[], xAxis: Axis): Columns | null {
    let [first, last] = [this.width, -1];
    for (const { curve } of lines) {
      for (let at = this.heldOf(curve); at < curve.x.length - 1; at++) {
        const [from, to] = [along(xAxis, curve.x[at] as number), along(xAxis, curve.x[at + 1] as number)];
        if (!(from <= to)) continue;
        [first, last] = [Math.min(first, Math.max(0, Math.floor(from))), Math.max(last, Math.min(this.width - 1, Math.floor(to)))];
      }
    }
    return first > last ? null : [first, last];
  }

  /** Adds what of a line is not held yet. */
  private draw(line: Line, { xAxis, yAxis, alpha, thick }: Manner): void {
    const cover = this.covers[line.tone];
    if (cover) rasterise(cover, line.curve, xAxis, yAxis, alpha, thick, this.heldOf(line.curve));
    this.held.set(line.curve.id, line);
  }

  /** The last point that is held of a curve: what is new begins there. */
  private heldOf({ id }: Curve): number {
    return Math.max(0, (this.held.get(id)?.curve.x.length ?? 0) - 1);
  }
}

function begins(row: Float64Array, head: Float64Array): boolean {
  if (row === head) return true;
  return row.length >= head.length && head.every((value, at) => Object.is(value, row[at]));
}
