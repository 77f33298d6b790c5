import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Complaint } from "@/parts/Notes";
import { Card, Section } from "@/parts/Page";
import { columnsQuery } from "@/training/queries";
import { metricColumn, metricsAmong, metricKey, readMetric, useRows, type Metric } from "@/training/rows";
import { bestOf } from "./best";
import { BestCard } from "./BestCard";
import { Curves } from "./Curves";
import css from "./Experiment.module.css";
import type { TabProps } from "./tab";
import { Figures } from "./Figures";
import { Leaders } from "./Leaders";
import { BestSoFar } from "./BestSoFar";
import { varying } from "./varying";

/** The maximum number of curves; of more trials, the best are drawn. */
const MOST_CURVES = 2000;

export function Overview({ experiment, search, onSearch }: TabProps) {
  const reference = String(experiment.number);
  const columns = useQuery(columnsQuery(reference));
  const metrics = useMemo(() => metricsAmong(columns.data?.columns ?? []), [columns.data]);
  const own: Metric = { group: "validation", name: experiment.metric ?? "loss" };
  const metric = readMetric(search.metric) ?? own;
  const columnNames = useMemo(() => columnsOf(experiment.config, metric, own), [experiment.config, metricKey(metric), own.name]);
  const { rows, total, error, isPending } = useRows(reference, { columns: columnNames, sort: "best", most: MOST_CURVES });
  const best = bestOf(experiment, rows);
  const [hovered, setHovered] = useState<string | null>(null);
  return (
    <div className={css.overview}>
      {experiment.waiting && <div className={css.warning}>{experiment.waiting}</div>}
      {experiment.reason && <div className={experiment.state === "completed" ? css.warning : css.reason}>{experiment.reason}</div>}
      {error && <Complaint error={error} />}
      <Figures experiment={experiment} best={best} />
      <Section>
        <Card className={css.chartCard}>
          <Curves
            experiment={experiment}
            rows={rows}
            total={total}
            isPending={isPending}
            metrics={metrics.length > 0 ? metrics : [own]}
            metric={metric}
            best={best}
            search={search}
            onSearch={onSearch}
            hovered={hovered}
            onHover={setHovered}
          />
        </Card>
      </Section>
      <div className={css.pair}>
        <BestSoFar experiment={experiment} rows={rows} />
        <BestCard experiment={experiment} best={best} />
      </div>
      <Leaders experiment={experiment} rows={rows} own={own} hovered={hovered} onHover={setHovered} />
    </div>
  );
}

/** Returns the columns of varying hyperparameters, the best value, and the latest values of the chosen metric. */
function columnsOf(config: Record<string, unknown>, metric: Metric, own: Metric): string[] {
  const stats = [metric, own].flatMap((one) => [metricColumn(one, "last"), metricColumn(one, "last_step")]);
  return [...new Set(["best", "ended", ...varying(config).map((name) => `hparams.${name}`), ...stats])];
}
