/** Draws curves onto the canvas of a uPlot chart. The series of uPlot share one x; each curve has its own. */
import uPlot from "uplot";
import type { Curve } from "./curve";

/** Charts with more points draw lines of one pixel, which browsers stroke more than ten times faster than wider lines. */
const MOST_WIDE_POINTS = 4000;
const MOST_MARKED_CURVES = 60;
const TONES = 8;
const LOGARITHMIC = 3;

export interface Colours {
  tones: readonly string[];
  bad: string;
  ground: string;
}

type Place = readonly [x: number, y: number];

/** Maps a value to a pixel position along an axis. */
type Along = (value: number) => number;

interface Pen {
  colour: string;
  alpha: number;
  width: number;
}

/** Returns the colour index of a curve, from 0: its own, or by position. */
export function toneAt(curve: Curve, position: number): number {
  return ((curve.tone ?? position + 1) - 1) % TONES;
}

/** Draws all curves, the highlighted one last. */
export function drawCurves(plot: uPlot, curves: readonly Curve[], strong: string | null, colours: Colours): void {
  const points = curves.reduce((sum, { x }) => sum + x.length, 0);
  const wide = 1.4 * uPlot.pxRatio;
  const width = points > MOST_WIDE_POINTS ? 1 : wide;
  // Thinner lines are more opaque, so that curves look equally strong.
  const alpha = Math.min(1, (opacity(curves.length) * (strong === null ? 1 : 0.75) * wide) / width);
  within(plot, plot.ctx, () => {
    curves.forEach((curve, position) => {
      if (curve.id === strong) return;
      drawCurve(plot, plot.ctx, curve, { colour: toneOf(curve, position, colours), alpha, width }, colours, curves.length <= MOST_MARKED_CURVES);
    });
  });
  drawStrong(plot, plot.ctx, curves, strong, colours);
}

/** Draws one highlighted curve on the chart's canvas or an overlay of the same size. */
export function drawStrong(plot: uPlot, context: CanvasRenderingContext2D, curves: readonly Curve[], strong: string | null, colours: Colours): void {
  const position = curves.findIndex(({ id }) => id === strong);
  const curve = curves[position];
  if (curve === undefined) return;
  const pen = { colour: toneOf(curve, position, colours), alpha: 1, width: 2.4 * uPlot.pxRatio };
  within(plot, context, () => drawCurve(plot, context, curve, pen, colours, true));
}

function toneOf(curve: Curve, position: number, { tones }: Colours): string {
  return tones[toneAt(curve, position)] as string;
}

/** Returns the opacity of each of `count` curves. */
function opacity(count: number): number {
  return count <= 8 ? 1 : Math.max(0.06, 1 / Math.sqrt(count / 8));
}

/** Clips drawing to the plot area, with a margin for marks on its edge. */
function within({ bbox }: uPlot, context: CanvasRenderingContext2D, draw: () => void): void {
  const padding = 4 * uPlot.pxRatio;
  context.save();
  context.beginPath();
  context.rect(bbox.left - padding, bbox.top - padding, bbox.width + 2 * padding, bbox.height + 2 * padding);
  context.clip();
  context.lineJoin = "round";
  draw();
  context.restore();
}

function drawCurve(plot: uPlot, context: CanvasRenderingContext2D, curve: Curve, pen: Pen, colours: Colours, hasMarks: boolean): void {
  const [across, up] = [pixelsAlong(plot, "x"), pixelsAlong(plot, "y")];
  const at = (position: number) => [across(curve.x[position] as number), up(curve.y[position] as number)] as const;
  Object.assign(context, { globalAlpha: pen.alpha, strokeStyle: pen.colour, lineWidth: pen.width });
  line(context, curve, across, up);
  if (hasMarks) {
    for (const position of curve.restarts ?? []) ring(context, at(position), pen.colour, colours.ground);
    if (curve.x.length === 1) dot(context, at(0), pen.colour);
    if (curve.isBroken && curve.x.length > 0) cross(context, at(curve.x.length - 1), colours.bad);
  }
  const foot = plot.bbox.top + plot.bbox.height - 7 * uPlot.pxRatio;
  for (const x of oddPlaces(curve, across)) cross(context, [x, foot], colours.bad);
}

/** Returns NaN or an infinity for values that a logarithmic axis cannot show. */
function pixelsAlong(plot: uPlot, key: "x" | "y"): Along {
  const { min = 0, max = 1, distr } = plot.scales[key] as uPlot.Scale;
  const [from, to] = [plot.valToPos(min, key, true), plot.valToPos(max, key, true)];
  if (distr === LOGARITHMIC) {
    const factor = (to - from) / Math.log10(max / min);
    return (value) => from + factor * Math.log10(value / min);
  }
  const factor = (to - from) / (max - min);
  return (value) => from + factor * (value - min);
}

/** Strokes a curve with gaps at values that have no position on the canvas. */
function line(context: CanvasRenderingContext2D, { x, y }: Curve, across: Along, up: Along): void {
  context.beginPath();
  let isDown = false;
  for (let position = 0; position < x.length; position++) {
    const px = across(x[position] as number);
    const py = up(y[position] as number);
    const isShown = Number.isFinite(px) && Number.isFinite(py);
    if (isShown && isDown) context.lineTo(px, py);
    else if (isShown) context.moveTo(px, py);
    isDown = isShown;
  }
  context.stroke();
}

/** Returns the positions of values that are not finite, at least one mark's width apart. */
function oddPlaces({ x, y }: Curve, across: Along): number[] {
  const found: number[] = [];
  for (let position = 0; position < y.length; position++) {
    if (Number.isFinite(y[position])) continue;
    const px = across(x[position] as number);
    if (px - (found.at(-1) ?? -Infinity) >= 6 * uPlot.pxRatio) found.push(px);
  }
  return found;
}

function ring(context: CanvasRenderingContext2D, [x, y]: Place, colour: string, ground: string): void {
  context.beginPath();
  context.arc(x, y, 3.2 * uPlot.pxRatio, 0, 2 * Math.PI);
  Object.assign(context, { fillStyle: ground, strokeStyle: colour, lineWidth: 1.6 * uPlot.pxRatio });
  context.fill();
  context.stroke();
}

function dot(context: CanvasRenderingContext2D, [x, y]: Place, colour: string): void {
  context.beginPath();
  context.arc(x, y, 2.4 * uPlot.pxRatio, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
}

function cross(context: CanvasRenderingContext2D, [x, y]: Place, colour: string): void {
  const arm = 3.4 * uPlot.pxRatio;
  Object.assign(context, { globalAlpha: 1, strokeStyle: colour, lineWidth: 1.8 * uPlot.pxRatio });
  context.beginPath();
  context.moveTo(x - arm, y - arm);
  context.lineTo(x + arm, y + arm);
  context.moveTo(x + arm, y - arm);
  context.lineTo(x - arm, y + arm);
  context.stroke();
}
