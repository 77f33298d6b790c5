/** A plot by ECharts, with only the modules that the pages use; a separate chunk, loaded on demand. */
import { BarChart, CustomChart, LineChart, ParallelChart, ScatterChart } from "echarts/charts";
import { GridComponent, LegendComponent, ParallelComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import { init, use, type EChartsCoreOption } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { useEffect, useRef } from "react";

use([BarChart, CustomChart, LineChart, ParallelChart, ScatterChart, GridComponent, LegendComponent, ParallelComponent, TooltipComponent, VisualMapComponent, CanvasRenderer]);

interface PlotProps {
  label: string;
  option: EChartsCoreOption;
  height?: number;
  /** Called with the name of the clicked data item. */
  onPick?: (name: string) => void;
}

export default function Plot({ label, option, height = 300, onPick }: PlotProps) {
  const ground = useRef<HTMLDivElement>(null);
  const pick = useRef(onPick);
  pick.current = onPick;
  useEffect(() => {
    const element = ground.current;
    if (element === null) return;
    const made = init(element, null, { renderer: "canvas" });
    made.setOption(option);
    made.on("click", ({ name }) => {
      if (name) pick.current?.(name);
    });
    const watcher = new ResizeObserver(() => made.resize());
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.dispose();
    };
  }, [option]);
  return <div ref={ground} role="img" aria-label={label} style={{ height }} />;
}
