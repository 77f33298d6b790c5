import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { Resource, Trial } from "@/api/types";
import { CurveChart } from "@/charts/CurveChart";
import { smoothed } from "@/charts/curve";
import { Asking } from "@/live/asking";
import { follow } from "@/live/socket";
import { formatDuration } from "@/parts/format";
import { Complaint, Empty, Loading } from "@/parts/Notes";
import { Num } from "@/parts/Number";
import { Card, Section } from "@/parts/Page";
import { ChartTools } from "@/training/ChartTools";
import { readZoom, formatZoom } from "@/training/chartSearch";
import { curveOf } from "@/training/curves";
import { seriesQuery } from "@/training/queries";
import type { Metric } from "@/training/rows";
import { measured } from "@/training/values";
import { About } from "./About";
import { summariesQuery } from "./queries";
import type { TrialSearch } from "./search";
import css from "./Trial.module.css";
import type { TrialTabProps } from "./tab";

type Summary = Resource<"MetricSummary">;

/** Parts of a trial's data that reports make stale. */
const REPORTED: ReadonlySet<unknown> = new Set(["metrics", "summaries"]);
const EPOCHS = ["epoch", "epochs"];

/** All metrics by group, system metrics last. */
export function MetricsTab({ trial, search, onSearch }: TrialTabProps) {
  const { data, error, isPending } = useQuery(summariesQuery(trial.id));
  useReports(trial);
  const metrics = data?.metrics ?? [];
  const groups = useMemo(() => groupsOf(metrics), [data]);
  const epochs = metrics.find(({ name }) => EPOCHS.includes(name)) ?? null;
  return (
    <div className={css.page}>
      <About trial={trial} />
      <div className={css.tools}>
        <ChartTools search={search} onSearch={onSearch} hasEpochs={epochs !== null} />
      </div>
      {error && <Complaint error={error} />}
      {isPending && <Loading rows={8} />}
      {data && metrics.length === 0 && (
        <Empty title="No metrics yet">
          <p>Metrics appear here live when your script calls <code>trial.report</code> or <code>trial.validate</code>.</p>
        </Empty>
      )}
      {groups.map(([group, some]) => (
        <Section key={group} title={<span className={css.group}>{group}</span>}>
          <div className={css.charts}>
            {some.map((summary) => (
              <MetricCard key={summary.name} trial={trial} summary={summary} epochs={epochs} search={search} onSearch={onSearch} />
            ))}
          </div>
        </Section>
      ))}
    </div>
  );
}

interface MetricCardProps {
  trial: Trial;
  summary: Summary;
  epochs: Metric | null;
  search: TrialSearch;
  onSearch: (next: TrialSearch) => void;
}

function MetricCard({ trial, summary, epochs, search, onSearch }: MetricCardProps) {
  const { group, name } = summary;
  const x = search.x === "epoch" && epochs === null ? "step" : (search.x ?? "step");
  const zoom = useMemo(() => readZoom(search.zoom), [search.zoom]);
  const names = x === "epoch" && epochs ? [name, epochs.name] : [name];
  const { data, error } = useQuery(seriesQuery(trial.id, x === "epoch" ? undefined : group, names, x === "step" ? zoom : null));
  const curves = useMemo(() => {
    const row = { trial: trial.id, experiment_number: trial.experiment_number, number: trial.number, state: trial.state };
    const found = data ? curveOf(row, data.series, { metric: { group, name }, x, epochs, zoom: null }) : [];
    const raw = found.map((one) => ({ ...one, tone: 1, label: name }));
    if (!search.smooth) return raw;
    return [...raw.map((one) => ({ ...one, id: "raw", tone: 3, restarts: [] })), ...raw.map((one) => ({ ...one, y: smoothed(one.y, search.smooth ?? 0) }))];
  }, [data, trial, group, name, x, epochs, search.smooth]);
  const last = summary.count > 0 ? measured({ value: summary.last, not_finite: summary.last_not_finite }) : null;
  return (
    <Card className={css.metric}>
      <header>
        <h3 title={`${group}/${name}`}>{name}</h3>
        <Num value={last} digits={5} />
      </header>
      {error ? <Complaint error={error} /> : null}
      {curves.length > 0 ? (
        <CurveChart
          label={name}
          curves={curves}
          height={190}
          xName={x === "time" ? "after" : x}
          formatX={x === "time" ? formatDuration : undefined}
          isLogX={search.log?.includes("x")}
          isLogY={search.log?.includes("y")}
          isGrowing={!trial.final}
          zoom={zoom}
          onZoom={(next) => onSearch({ ...search, zoom: formatZoom(next) })}
          strong={trial.id}
        />
      ) : (
        <div className={css.blank} />
      )}
      <footer className="muted number">
        <span>min <Num value={summary.min} /></span>
        <span>max <Num value={summary.max} /></span>
        <span>mean <Num value={summary.mean} /></span>
      </footer>
    </Card>
  );
}

/** Refetches metrics when the trial reports between validations. */
function useReports(trial: Trial): void {
  const client = useQueryClient();
  const { id, final } = trial;
  useEffect(() => {
    if (final) return;
    const asking = new Asking(client);
    const isReported = ({ queryKey: [kind, name, part] }: { queryKey: readonly unknown[] }) => kind === "trial" && name === id && REPORTED.has(part);
    const end = follow({ path: `/v1/trials/${id}/metrics/follow?from_now=true`, onItem: () => asking.mark(isReported) });
    return () => {
      asking.end();
      end();
    };
  }, [client, id, final]);
}

const LAST = ["system", "timing"];

function groupsOf(metrics: readonly Summary[]): [string, Summary[]][] {
  const found = new Map<string, Summary[]>();
  for (const one of metrics) found.set(one.group, [...(found.get(one.group) ?? []), one]);
  const rank = (group: string) => (group === "validation" ? -1 : LAST.indexOf(group) + 1);
  return [...found].sort(([one], [other]) => rank(one) - rank(other) || one.localeCompare(other));
}
