/**
 * A chart of curves by uPlot, which has the axes, grid, pointer and zoom; `lines` draws the curves in its hook.
 * Dragging over a range zooms, a double click resets; `onZoom` lets the page ask for the finer points.
 */
import { useEffect, useMemo, useRef, useState, type RefObject } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { token, useTheme } from "@/parts/theme";
import { formatNumber } from "@/parts/format";
import css from "./CurveChart.module.css";
import { bounds, logMarks, nearest, nearestTo, type Curve, type Range, type Ranges } from "./curve";
import { drawCurves, drawStrong, toneAt, type Colours } from "./lines";

export interface CurveChartProps {
  /** Label for screen readers. */
  label: string;
  curves: readonly Curve[];
  height?: number;
  xName: string;
  /** The curves grow: the axes stay as they are while the new points fit. */
  isGrowing?: boolean;
  formatX?: (x: number) => string;
  isLogX?: boolean;
  isLogY?: boolean;
  zoom?: Range | null;
  onZoom?: (zoom: Range | null) => void;
  /** Id of a highlighted curve, such as the best. */
  strong?: string | null;
  onPick?: (id: string) => void;
  /** Id of the hovered curve; it can be set from outside, for example by a table row. */
  hovered?: string | null;
  onHover?: (id: string | null) => void;
}

interface Pointer {
  left: number;
  top: number;
  x: number;
  y: number;
  curve: Curve;
}

interface Shown extends CurveChartProps {
  ranges: Ranges;
  marked: string | null;
}

const REACH_PX = 40;

export function CurveChart(props: CurveChartProps) {
  const { curves, isLogX = false, isLogY = false, height = 320, label } = props;
  const theme = useTheme();
  const ground = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const [pointer, setPointer] = useState<Pointer | null>(null);
  const ranges = useRanges(props);
  const marked = pointer?.curve.id ?? props.hovered ?? null;
  const chart = useRef<Shown>({ ...props, ranges, marked });
  chart.current = { ...props, ranges, marked };

  useEffect(() => {
    const element = ground.current;
    if (element === null) return;
    const made = new uPlot(optionsOf(chart, overlay, element.clientWidth, height, isLogX, isLogY, setPointer), dataOf(chart.current.ranges), element);
    plot.current = made;
    const watcher = new ResizeObserver(() => element.clientWidth !== made.width && made.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [theme, isLogX, isLogY, height]);
  useEffect(() => plot.current?.setData(dataOf(ranges)), [ranges]);
  useEffect(() => plot.current?.redraw(false, false), [props.strong]);
  useEffect(() => {
    if (plot.current) drawMarked(plot.current, overlay.current, chart.current);
  }, [marked]);
  const { onHover } = props;
  useEffect(() => onHover?.(pointer?.curve.id ?? null), [onHover, pointer?.curve.id]);

  return (
    <div className={css.chart} role="img" aria-label={`${label}: ${curves.length} ${curves.length === 1 ? "curve" : "curves"}`} data-curves={curves.length}>
      <div ref={ground} className={pointer ? css.pointing : undefined} style={{ height }} />
      <canvas ref={overlay} className={css.overlay} />
      {pointer && <Tip pointer={pointer} props={props} />}
    </div>
  );
}

/** Returns the ranges of the axes. For growing curves they stay as they are while the curves fit. */
function useRanges({ label, xName, curves, zoom = null, isLogX = false, isLogY = false, isGrowing = false }: CurveChartProps): Ranges {
  const previous = useRef<{ ranges: Ranges; of: string } | null>(null);
  const of = [label, xName, zoom].join();
  const ranges = useMemo(() => bounds(curves, zoom, isLogX, isLogY, previous.current?.of === of ? previous.current.ranges : null), [curves, zoom, isLogX, isLogY, of]);
  previous.current = isGrowing ? { ranges, of } : null;
  return ranges;
}

function Tip({ pointer, props }: { pointer: Pointer; props: CurveChartProps }) {
  const { curve, left, top, x, y } = pointer;
  const place = props.curves.indexOf(curve);
  const isRight = left > 240;
  return (
    <div className={css.tip} style={{ transform: `translate(${left}px, ${top}px) translate(${isRight ? "calc(-100% - 12px)" : "12px"}, -50%)` }}>
      <span className={css.swatch} style={{ background: `var(--series-${toneAt(curve, place) + 1})` }} />
      <b>{curve.label}</b>
      <span className="number">{formatNumber(y)}</span>
      <span className="muted number">
        {props.xName} {(props.formatX ?? formatNumber)(x)}
      </span>
    </div>
  );
}

/** uPlot receives only the corners of the ranges; a hook draws the curves. */
function dataOf({ x, y }: Ranges): uPlot.AlignedData {
  return [
    [x[0], x[1]],
    [y[0], y[1]],
  ];
}

function optionsOf(chart: RefObject<Shown>, overlay: RefObject<HTMLCanvasElement | null>, width: number, height: number, isLogX: boolean, isLogY: boolean, point: (pointer: Pointer | null) => void): uPlot.Options {
  const axis = {
    stroke: token("--ink-3"),
    font: "11px Inter, sans-serif",
    grid: { stroke: token("--line"), width: 1 },
    ticks: { show: false },
    border: { show: false },
  };
  // uPlot's default leaves a short x axis with a single mark.
  const marked = (isLog: boolean, of: "x" | "y", space: number) => (isLog ? { splits: () => logMarks(chart.current.ranges[of], space), filter: (_: uPlot, marks: number[]) => marks } : {});
  return {
    width,
    height,
    padding: [10, 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => (chart.current.onZoom?.(null), null) } },
    scales: {
      x: { time: false, distr: isLogX ? 3 : 1, range: () => [...chart.current.ranges.x] },
      y: { distr: isLogY ? 3 : 1, range: () => [...chart.current.ranges.y] },
    },
    axes: [
      { ...axis, ...marked(isLogX, "x", width / 80), grid: { show: false }, gap: 6, size: 30, space: 80, values: (_, splits) => splits.map((at) => (at === null ? "" : formatTick(at, chart.current.formatX))) },
      { ...axis, ...marked(isLogY, "y", height / 28), gap: 8, size: (_, values) => Math.max(38, 14 + 6.4 * Math.max(0, ...(values ?? []).map((one) => one.length))), values: (_, splits) => splits.map((at) => (at === null ? "" : formatNumber(at))) },
    ],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: {
      draw: [
        (plot) => {
          draw(plot, chart.current);
          drawMarked(plot, overlay.current, chart.current);
        },
      ],
      setSelect: [(plot) => select(plot, chart.current)],
      setCursor: [(plot) => point(pointerOf(plot, chart.current))],
      ready: [(plot) => plot.over.addEventListener("click", () => pick(plot, chart.current))],
    },
  };
}

function formatTick(value: number, format: ((value: number) => string) | undefined): string {
  return (format ?? formatNumber)(value);
}

function draw(plot: uPlot, { label, curves, ranges, strong }: Shown): void {
  const began = performance.now();
  drawCurves(plot, curves, strong ?? null, coloursNow());
  const end = curves.reduce((most, { x }) => Math.max(most, x.at(-1) ?? -Infinity), -Infinity);
  performance.clearMeasures("muster.curves"); // entries would otherwise accumulate
  performance.measure("muster.curves", { start: began, detail: { label, curves: curves.length, reach: Math.min(end, ranges.x[1]) } });
}

/** Draws the hovered curve on an overlay canvas, so that the other curves are not redrawn. */
function drawMarked(plot: uPlot, overlay: HTMLCanvasElement | null, { curves, marked }: Shown): void {
  const context = overlay?.getContext("2d");
  if (!context) return;
  // A new size clears the canvas.
  Object.assign(context.canvas, { width: plot.ctx.canvas.width, height: plot.ctx.canvas.height });
  drawStrong(plot, context, curves, marked, coloursNow());
}

function coloursNow(): Colours {
  return { tones: Array.from({ length: 8 }, (_, at) => token(`--series-${at + 1}`)), bad: token("--bad"), ground: token("--surface") };
}

function select(plot: uPlot, { onZoom }: Shown): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  onZoom?.([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

function pointerOf(plot: uPlot, { curves }: Shown): Pointer | null {
  const { left = -1, top = -1 } = plot.cursor;
  if (left < 0 || top < 0) return null;
  const away = (value: number, height: number) => Math.abs(plot.valToPos(value, "y") - height);
  const curve = nearest(curves, plot.posToVal(left, "x"), top, away, REACH_PX);
  if (curve === null) return null;
  const at = nearestTo(curve.x, plot.posToVal(left, "x"));
  const [x, y] = [curve.x[at] as number, curve.y[at] as number];
  const shift = plot.over.offsetLeft;
  return { curve, x, y, left: shift + plot.valToPos(x, "x"), top: plot.over.offsetTop + (Number.isFinite(y) ? plot.valToPos(y, "y") : top) };
}

function pick(plot: uPlot, chart: Shown): void {
  const found = pointerOf(plot, chart);
  if (found) chart.onPick?.(found.curve.id);
}
