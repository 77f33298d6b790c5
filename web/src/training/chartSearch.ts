/** State of curve charts in the URL. Pure. */
import type { Range } from "@/charts/curve";
import type { XAxis } from "./curves";

export interface ChartSearch {
  metric?: string;
  x?: XAxis;
  /** Logarithmic axes: `x`, `y` or `xy`. */
  log?: string;
  /** Weight of the moving average, 0 to 0.99. */
  smooth?: number;
  /** Zoomed range: `from:to`. */
  zoom?: string;
}

export function readChartSearch(search: Record<string, unknown>): ChartSearch {
  const x = text(search.x);
  const smooth = Number(search.smooth);
  return {
    metric: text(search.metric),
    x: x === "time" || x === "epoch" ? x : undefined,
    log: ["x", "y", "xy"].includes(String(search.log)) ? String(search.log) : undefined,
    smooth: smooth > 0 && smooth < 1 ? smooth : undefined,
    zoom: readZoom(text(search.zoom)) ? text(search.zoom) : undefined,
  };
}

export function readZoom(word: string | undefined): Range | null {
  const [from = NaN, to = NaN] = (word ?? "").split(":").map(Number);
  return from < to ? [from, to] : null;
}

export function formatZoom(zoom: Range | null): string | undefined {
  return zoom === null ? undefined : zoom.map((at) => Number(at.toPrecision(6))).join(":");
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;
}
