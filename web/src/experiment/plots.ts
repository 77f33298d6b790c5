/** Options of the plots of an experiment. Pure except for the colours of the theme. */
import type { EChartsCoreOption } from "echarts/core";
import { rgbToken as colour } from "@/parts/theme";
import { tip } from "@/charts/look";
import { isWide, type Importance, type Sample } from "@/charts/relations";
import { surfaceOf, type SurfaceCell } from "@/charts/surface";
import { formatNumber } from "@/parts/format";

function axis(name: string, values: readonly unknown[]) {
  const categories = [...new Set(values.filter((value) => typeof value !== "number").map(textOf))];
  const type = categories.length > 0 ? "category" : isWide(values) ? "log" : "value";
  const line = { lineStyle: { color: colour("--line-strong") } };
  return {
    name,
    type,
    scale: true,
    ...(categories.length > 0 && { data: [...new Set(values.map(textOf))] }),
    nameTextStyle: { color: colour("--ink-2") },
    axisLabel: { color: colour("--ink-3"), fontSize: 11, textBorderColor: colour("--surface"), textBorderWidth: 3, formatter: (value: number | string) => (typeof value === "number" ? formatNumber(value, 3) : value) },
    axisLine: line,
    axisTick: line,
    splitLine: { lineStyle: { color: colour("--line") } },
  };
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value ?? null));
const plain = (value: unknown) => (typeof value === "number" ? value : textOf(value));

function shades(samples: readonly Sample[], isLess: boolean) {
  const results = samples.map(({ result }) => result);
  const range = [colour("--line-strong"), colour("--series-6"), colour("--series-1")];
  return { min: Math.min(...results), max: Math.max(...results), show: false, inRange: { color: isLess ? range.reverse() : range } };
}

/** Parallel coordinates: each trial is a line through its hyperparameters, coloured by its result. */
export function parallel(samples: readonly Sample[], names: readonly string[], metric: string, isLess: boolean): EChartsCoreOption {
  const columns = [...names.map((name) => ({ name, values: samples.map(({ values }) => values[name]) })), { name: metric, values: samples.map(({ result }) => result) }];
  return {
    animation: false,
    parallel: { left: 50, right: 80, top: 34, bottom: 20, parallelAxisDefault: { nameGap: 12 } },
    parallelAxis: columns.map(({ name, values }, dim) => ({ dim, z: 4, ...axis(name, values) })),
    visualMap: { ...shades(samples, isLess), dimension: names.length },
    series: [{ type: "parallel", lineStyle: { width: 1.6, opacity: samples.length > 200 ? 0.25 : 0.65 }, data: samples.map((one) => [...names.map((name) => plain(one.values[name])), one.result]) }],
  };
}

interface Drawn {
  coord: (point: [number, number]) => [number, number];
  visual: (name: "color") => string;
}

/** Cells of the interpolated metric behind the trials. */
function contour(cells: readonly SurfaceCell[]) {
  return {
    type: "custom",
    silent: true,
    z: 1,
    renderItem: ({ dataIndex }: { dataIndex: number }, drawn: Drawn) => {
      const cell = cells[dataIndex];
      if (cell === undefined) return null;
      const [[left, bottom], [right, top]] = [drawn.coord([cell.left, cell.bottom]), drawn.coord([cell.right, cell.top])];
      // Whole pixels: fractional ones leave gaps or overlap between cells.
      const [x, y] = [Math.round(left), Math.round(top)];
      const shape = { x, y, width: Math.round(right) - x, height: Math.round(bottom) - y };
      return { type: "rect", shape, style: { fill: drawn.visual("color"), opacity: 0.35 } };
    },
    data: cells.map(({ left, bottom, value }) => [left, bottom, value]),
  };
}

/** Scatter plot of two hyperparameters, coloured by the result, over the interpolated metric. */
export function scatter(samples: readonly Sample[], a: string, b: string, metric: string, isLess: boolean): EChartsCoreOption {
  const xs = samples.map(({ values }) => values[a]);
  const ys = samples.map(({ values }) => values[b]);
  const cells = surfaceOf(samples.map((one) => ({ x: Number(one.values[a] ?? NaN), y: Number(one.values[b] ?? NaN), value: one.result })));
  return {
    animation: false,
    grid: { left: 64, right: 24, top: 30, bottom: 42 },
    xAxis: { ...axis(a, xs), nameLocation: "middle", nameGap: 28 },
    yAxis: axis(b, ys),
    visualMap: { ...shades(samples, isLess), dimension: 2 },
    tooltip: { ...tip(), formatter: ({ name, value }: { name: string; value: (number | string)[] }) => `${name}\n${a} ${formatCell(value[0])}\n${b} ${formatCell(value[1])}\n${metric} ${formatCell(value[2])}` },
    series: [contour(cells), { type: "scatter", z: 2, symbolSize: 11, itemStyle: { borderColor: colour("--surface"), borderWidth: 1.5 }, data: samples.map((one) => ({ name: one.label, value: [plain(one.values[a]), plain(one.values[b]), one.result] })) }],
  };
}

const formatCell = (value: unknown) => (typeof value === "number" ? formatNumber(value) : String(value));

/** Bars of importance, greatest first. */
export function shares(found: readonly Importance[]): EChartsCoreOption {
  const up = [...found].reverse();
  return {
    animation: false,
    grid: { left: 8, right: 48, top: 4, bottom: 4, containLabel: true },
    xAxis: { type: "value", max: 1, show: false },
    yAxis: { type: "category", data: up.map(({ name }) => name), axisLine: { show: false }, axisTick: { show: false }, axisLabel: { color: colour("--ink-2") } },
    series: [
      {
        type: "bar",
        barMaxWidth: 18,
        itemStyle: { color: colour("--series-1"), borderRadius: 4 },
        showBackground: true,
        backgroundStyle: { color: colour("--sunken"), borderRadius: 4 },
        label: { show: true, position: "right", color: colour("--ink-2"), formatter: ({ value }: { value: number }) => `${Math.round(value * 100)} %` },
        data: up.map(({ share }) => share),
      },
    ],
  };
}

/** One of several metrics of a search. */
export interface Objective {
  name: string;
  smaller_is_better?: boolean;
}

/** Pareto front in two metrics. If the search has only these two, the attained boundary is drawn too. */
export function pareto(points: readonly { label: string; x: number; y: number }[], [x, y, ...others]: readonly Objective[]): EChartsCoreOption {
  const sorted = [...points].sort((one, other) => one.x - other.x);
  const [along, up] = [x?.name ?? "", y?.name ?? ""];
  const edge = others.length > 0 ? { lineStyle: { width: 0 } } : { step: x?.smaller_is_better === false ? "start" : "end", lineStyle: { width: 1.5, type: "dashed" } };
  return {
    animation: false,
    grid: { left: 64, right: 24, top: 30, bottom: 42 },
    xAxis: { ...axis(along, points.map((one) => one.x)), nameLocation: "middle", nameGap: 28 },
    yAxis: axis(up, points.map((one) => one.y)),
    tooltip: { ...tip(), formatter: ({ name, value }: { name: string; value: number[] }) => `${name}\n${along} ${formatCell(value[0])}\n${up} ${formatCell(value[1])}` },
    series: [{ type: "line", symbol: "circle", symbolSize: 9, itemStyle: { color: colour("--series-1") }, ...edge, data: sorted.map((one) => ({ name: one.label, value: [one.x, one.y] })) }],
  };
}
