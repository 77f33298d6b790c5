/** Brings curves onto a canvas: few by its own strokes, many by `sheet`. */
import { along, axisOf, type Axis, type Rgb } from "./raster";
import { extentOf, type Curve, type Ranges } from "./curve";
import { Sheet } from "./sheet";

/** More points than these are too slow for the canvas's own strokes: of noisy curves it takes 15 µs for each, and covers a tenth of that. */
const MOST_STROKED = 4000;
const TONES = 8;

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Look {
  isLogX: boolean;
  isLogY: boolean;
  /** Drawn strongly, over all others. */
  strong: ReadonlySet<string>;
  /** Pixels of the canvas to one of the page. */
  ratio: number;
  tones: readonly string[];
  bad: string;
  ground: string;
}

/** The tone of a curve, from 0, by its own or by its place. */
export function toneAt(curve: Curve, place: number): number {
  return ((curve.tone ?? place + 1) - 1) % TONES;
}

/** Draws all curves into `box`, in ranges that are at its edges. */
export function paint(context: CanvasRenderingContext2D, curves: readonly Curve[], ranges: Ranges, box: Box, look: Look): void {
  const points = curves.reduce((sum, { x }) => sum + x.length, 0);
  const isMany = points > MOST_STROKED;
  const alpha = look.strong.size > 0 ? quiet(curves.length) * 0.75 : quiet(curves.length);
  context.save();
  context.beginPath();
  // What stands on the edge is seen whole.
  const room = 4 * look.ratio;
  context.rect(box.left - room, box.top - room, box.width + 2 * room, box.height + 2 * room);
  context.clip();
  if (isMany) paintMany(context, curves, ranges, box, look, alpha);
  const [xAxis, yAxis] = axesIn(ranges, box, look);
  context.lineJoin = "round";
  curves.forEach((curve, place) => {
    const colour = look.tones[toneAt(curve, place)] as string;
    const isStrong = look.strong.has(curve.id);
    if (isStrong || !isMany) stroke(context, curve, xAxis, yAxis, colour, isStrong ? 1 : alpha, (isStrong ? 2.4 : 1.4) * look.ratio);
    if (isStrong || curves.length <= 60) marks(context, curve, xAxis, yAxis, colour, isStrong ? 1 : alpha, look);
    oddities(context, curve, xAxis, box, look);
  });
  context.restore();
}

/** How opaque one of so many is. */
function quiet(count: number): number {
  return count <= 8 ? 1 : Math.max(0.09, 1 / Math.sqrt(count / 8));
}

function axesIn(ranges: Ranges, box: Box, look: Look): [Axis, Axis] {
  return [
    axisOf(ranges.x[0], ranges.x[1], box.left, box.left + box.width, look.isLogX),
    axisOf(ranges.y[0], ranges.y[1], box.top + box.height, box.top, look.isLogY),
  ];
}

function paintMany(context: CanvasRenderingContext2D, curves: readonly Curve[], ranges: Ranges, box: Box, look: Look, alpha: number): void {
  const [width, height] = [Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height))];
  const { image, layer, sheet } = groundOf(width, height);
  const [xAxis, yAxis] = axesIn(ranges, { left: 0, top: 0, width, height }, look);
  const lines = curves.map((curve, place) => ({ curve, tone: toneAt(curve, place) }));
  const changed = sheet.show(lines, { xAxis, yAxis, colours: look.tones.map(rgbOf), alpha, thick: 1.2 * look.ratio });
  if (changed) layer.getContext("2d")?.putImageData(image, 0, 0, changed[0], 0, changed[1] - changed[0] + 1, height);
  context.drawImage(layer, box.left, box.top);
}

/** A sheet, and what brings its pixels onto a canvas. */
interface Ground {
  image: ImageData;
  layer: HTMLCanvasElement;
  sheet: Sheet;
}

let ground: Ground | null = null;

/** The last one again where it has this size: a chart that grows is drawn some times a second, and a sheet has ten megabytes. */
function groundOf(width: number, height: number): Ground {
  if (ground?.image.width === width && ground.image.height === height) return ground;
  const layer = document.createElement("canvas");
  [layer.width, layer.height] = [width, height];
  const image = new ImageData(width, height);
  ground = { image, layer, sheet: new Sheet(image.data, width, height, TONES) };
  return ground;
}

function stroke(context: CanvasRenderingContext2D, { x, y }: Curve, xAxis: Axis, yAxis: Axis, colour: string, alpha: number, width: number): void {
  context.globalAlpha = alpha;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  let isDown = false;
  for (let at = 0; at < x.length; at++) {
    const [px, py] = [along(xAxis, x[at] as number), along(yAxis, y[at] as number)];
    if (!Number.isFinite(px) || !Number.isFinite(py)) isDown = false;
    else if (isDown) context.lineTo(px, py);
    else {
      context.moveTo(px, py);
      isDown = true;
    }
  }
  context.stroke();
}

/** A ring where a run was interrupted and another went on, a dot for a curve of one point. */
function marks(context: CanvasRenderingContext2D, curve: Curve, xAxis: Axis, yAxis: Axis, colour: string, alpha: number, look: Look): void {
  context.globalAlpha = alpha;
  for (const at of curve.restarts ?? []) {
    circle(context, along(xAxis, curve.x[at] as number), along(yAxis, curve.y[at] as number), 3.2 * look.ratio);
    context.fillStyle = look.ground;
    context.fill();
    context.strokeStyle = colour;
    context.lineWidth = 1.6 * look.ratio;
    context.stroke();
  }
  if (curve.x.length === 1) {
    circle(context, along(xAxis, curve.x[0] as number), along(yAxis, curve.y[0] as number), 2.4 * look.ratio);
    context.fillStyle = colour;
    context.fill();
  }
  if (curve.isBroken && curve.x.length > 0) {
    const at = curve.x.length - 1;
    cross(context, along(xAxis, curve.x[at] as number), along(yAxis, curve.y[at] as number), look);
  }
}

/** A cross at the foot where a value was reported that is no number. */
function oddities(context: CanvasRenderingContext2D, curve: Curve, xAxis: Axis, box: Box, look: Look): void {
  let drawn = -Infinity;
  for (const at of extentOf(curve).odd) {
    const px = along(xAxis, curve.x[at] as number);
    if (px - drawn < 6 * look.ratio) continue;
    drawn = px;
    cross(context, px, box.top + box.height - 7 * look.ratio, look);
  }
}

function circle(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

function cross(context: CanvasRenderingContext2D, x: number, y: number, look: Look): void {
  const arm = 3.4 * look.ratio;
  context.globalAlpha = 1;
  context.strokeStyle = look.bad;
  context.lineWidth = 1.8 * look.ratio;
  context.beginPath();
  context.moveTo(x - arm, y - arm);
  context.lineTo(x + arm, y + arm);
  context.moveTo(x + arm, y - arm);
  context.lineTo(x - arm, y + arm);
  context.stroke();
}

const known = new Map<string, Rgb>();

/** A colour of the page as its three parts, whatever notation it stands in. */
export function rgbOf(colour: string): Rgb {
  const before = known.get(colour);
  if (before) return before;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null) return [128, 128, 128];
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  known.set(colour, [red, green, blue]);
  return [red, green, blue];
}
