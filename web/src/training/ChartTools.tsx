import { Button } from "@/parts/Button";
import { Select } from "@/parts/Field";
import css from "./ChartTools.module.css";
import type { ChartSearch } from "./chartSearch";
import { metricKey, type Metric } from "./rows";

interface ChartToolsProps {
  search: ChartSearch;
  onSearch: (next: ChartSearch) => void;
  /** The metrics to choose from; the first is the search's. */
  metrics?: readonly Metric[];
  metric?: Metric | null;
  hasEpochs: boolean;
}

/** Controls of a curve chart; the choices are kept in the URL. */
export function ChartTools({ search, onSearch, metrics = [], metric, hasEpochs }: ChartToolsProps) {
  const set = (change: ChartSearch) => onSearch({ ...search, ...change });
  const toggle = (axis: string) => {
    const log = search.log ?? "";
    const next = log.includes(axis) ? log.replace(axis, "") : [...(log + axis)].sort().join("");
    set({ log: next || undefined, zoom: axis === "x" ? undefined : search.zoom });
  };
  return (
    <div className={css.tools}>
      {metrics.length > 0 && (
        <Select label="Metric" value={metric ? metricKey(metric) : ""} onChange={(event) => set({ metric: event.target.value, zoom: undefined })}>
          {metrics.map((one) => (
            <option key={metricKey(one)} value={metricKey(one)}>
              {metricKey(one)}
            </option>
          ))}
        </Select>
      )}
      <Select label="X axis" value={search.x ?? "step"} onChange={(event) => set({ x: event.target.value === "step" ? undefined : (event.target.value as "time"), zoom: undefined })}>
        <option value="step">step</option>
        <option value="time">time</option>
        {hasEpochs && <option value="epoch">epoch</option>}
      </Select>
      <span className={css.pair} role="group" aria-label="Logarithmic axes">
        {["x", "y"].map((axis) => (
          <button key={axis} type="button" aria-pressed={search.log?.includes(axis) ?? false} title={`Logarithmic ${axis} axis`} onClick={() => toggle(axis)}>
            log {axis}
          </button>
        ))}
      </span>
      <label className={css.smooth} title="Exponential moving average">
        smooth
        <input
          type="range"
          min={0}
          max={0.99}
          step={0.01}
          value={search.smooth ?? 0}
          aria-valuetext={search.smooth ? String(search.smooth) : "off"}
          onChange={(event) => set({ smooth: Number(event.target.value) || undefined })}
        />
      </label>
      {search.zoom && (
        <Button small kind="quiet" icon="close" onClick={() => set({ zoom: undefined })}>
          Reset zoom
        </Button>
      )}
    </div>
  );
}
