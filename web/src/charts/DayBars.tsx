import type { EChartsCoreOption } from "echarts/core";
import { lazy, Suspense } from "react";
import { rgbToken, useTheme } from "@/parts/theme";
import type { Series } from "./days";
import { tip } from "./look";

const Plot = lazy(() => import("./Plot"));
const HEIGHT_PX = 280;
const TONES = 8;

interface DayBarsProps {
  /** What is drawn, such as "slot-hours". */
  label: string;
  days: readonly string[];
  series: readonly Series[];
  say: (value: number) => string;
}

/** Stacked bars, one a day; the first series stands at the foot. The ninth and later share a quiet colour. */
export function DayBars({ label, days, series, say }: DayBarsProps) {
  useTheme();
  const sums = days.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const most = Math.max(0, ...sums);
  return (
    <Suspense fallback={<div style={{ height: HEIGHT_PX }} />}>
      <Plot label={`${label} by day, ${days[0]} to ${days.at(-1)}, at most ${say(most)} on ${days[sums.indexOf(most)]}`} height={HEIGHT_PX} option={optionOf(days, series, sums, say)} />
    </Suspense>
  );
}

function optionOf(days: readonly string[], series: readonly Series[], sums: readonly number[], say: (value: number) => string): EChartsCoreOption {
  const quiet = { color: rgbToken("--ink-3"), fontSize: 11 };
  return {
    animation: false,
    grid: { left: 8, right: 8, top: 14, bottom: 34, containLabel: true },
    legend: { type: "scroll", bottom: 0, left: 0, icon: "roundRect", itemWidth: 11, itemHeight: 11, textStyle: { color: rgbToken("--ink-2") }, pageIconColor: rgbToken("--ink-2"), pageTextStyle: quiet },
    tooltip: { ...tip(), trigger: "axis", axisPointer: { type: "shadow" }, formatter: ([bar]: { dataIndex: number }[]) => (bar ? partsOf(bar.dataIndex, days, series, sums, say) : "") },
    xAxis: { type: "category", data: days, axisTick: { show: false }, axisLine: { lineStyle: { color: rgbToken("--line-strong") } }, axisLabel: { ...quiet, formatter: shortDay } },
    yAxis: { type: "value", axisLabel: { ...quiet, formatter: say }, splitLine: { lineStyle: { color: rgbToken("--line") } } },
    series: series.map(({ name, values }, place) => ({ type: "bar", stack: "all", name, data: values, itemStyle: { color: rgbToken(place < TONES ? `--series-${place + 1}` : "--idle") } })),
  };
}

/** The day and what each has of it, line by line. */
function partsOf(at: number, days: readonly string[], series: readonly Series[], sums: readonly number[], say: (value: number) => string): string {
  const parts = series.flatMap(({ name, values }) => ((values[at] ?? 0) > 0 ? [`${name}: ${say(values[at] ?? 0)}`] : []));
  return [`${days[at]}: ${say(sums[at] ?? 0)}`, ...parts].join("\n");
}

function shortDay(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}
