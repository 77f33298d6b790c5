import type { EChartsCoreOption } from "echarts/core";
import { lazy, Suspense } from "react";
import { rgbToken, useTheme } from "@/parts/theme";
import type { Series } from "./days";
import { tip } from "./look";

const Plot = lazy(() => import("./Plot"));
const HEIGHT_PX = 280;
const TONES = 8;

interface DayBarsProps {
  /** Label of the values, such as "Slot-hours". */
  label: string;
  days: readonly string[];
  series: readonly Series[];
  format: (value: number) => string;
}

/** Stacked bars, one per day, with the first series at the bottom. From the ninth on, series share a muted colour. */
export function DayBars({ label, days, series, format }: DayBarsProps) {
  useTheme();
  const sums = days.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const most = Math.max(0, ...sums);
  return (
    <Suspense fallback={<div style={{ height: HEIGHT_PX }} />}>
      <Plot label={`${label} by day, ${days[0]} to ${days.at(-1)}, at most ${format(most)} on ${days[sums.indexOf(most)]}`} height={HEIGHT_PX} option={optionOf(days, series, sums, format)} />
    </Suspense>
  );
}

function optionOf(days: readonly string[], series: readonly Series[], sums: readonly number[], format: (value: number) => string): EChartsCoreOption {
  const quiet = { color: rgbToken("--ink-3"), fontSize: 11 };
  return {
    animation: false,
    grid: { left: 8, right: 8, top: 14, bottom: 34, containLabel: true },
    legend: { type: "scroll", bottom: 0, left: 0, icon: "roundRect", itemWidth: 11, itemHeight: 11, textStyle: { color: rgbToken("--ink-2") }, pageIconColor: rgbToken("--ink-2"), pageTextStyle: quiet },
    tooltip: { ...tip(), trigger: "axis", axisPointer: { type: "shadow" }, formatter: ([bar]: { dataIndex: number }[]) => (bar ? partsOf(bar.dataIndex, days, series, sums, format) : "") },
    xAxis: { type: "category", data: days, axisTick: { show: false }, axisLine: { lineStyle: { color: rgbToken("--line-strong") } }, axisLabel: { ...quiet, formatter: shortDay } },
    yAxis: { type: "value", axisLabel: { ...quiet, formatter: format }, splitLine: { lineStyle: { color: rgbToken("--line") } } },
    series: series.map(({ name, values }, index) => ({ type: "bar", stack: "all", name, data: values, itemStyle: { color: rgbToken(index < TONES ? `--series-${index + 1}` : "--idle") } })),
  };
}

/** Returns the tooltip: the day and the value of each series. */
function partsOf(at: number, days: readonly string[], series: readonly Series[], sums: readonly number[], format: (value: number) => string): string {
  const parts = series.flatMap(({ name, values }) => ((values[at] ?? 0) > 0 ? [`${name}: ${format(values[at] ?? 0)}`] : []));
  return [`${days[at]}: ${format(sums[at] ?? 0)}`, ...parts].join("\n");
}

function shortDay(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}
