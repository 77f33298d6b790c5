import { Link } from "@tanstack/react-router";
import type { Experiment } from "@/api/types";
import type { Column } from "@/parts/table/props";
import { Num } from "@/parts/Number";
import { Progress } from "@/parts/Progress";
import { State } from "@/parts/State";
import { Elapsed, Time } from "@/parts/Time";
import { Label } from "@/training/Label";
import { endedOf, stateOf } from "@/training/states";
import { flattened, sayValue } from "@/training/values";
import css from "./Experiments.module.css";

/** The default columns. */
export const DEFAULT_COLUMNS = ["number", "name", "state", "progress", "best", "trials", "owner", "created", "took"];

/** Prefixes of the ids of columns for metrics, hyperparameters and labels. */
const METRIC = "metric:";
const POINT = "hparams.";
const LABEL = "label:";

/** The groups of columns in the dialog that chooses them. */
export const KINDS: readonly { legend: string; holds: (id: string) => boolean }[] = [
  { legend: "Experiment", holds: (id) => ![METRIC, POINT, LABEL].some((kind) => id.startsWith(kind)) },
  { legend: "Metrics at the best validation", holds: (id) => id.startsWith(METRIC) },
  { legend: "Hyperparameters of the best trial", holds: (id) => id.startsWith(POINT) },
  { legend: "Labels", holds: (id) => id.startsWith(LABEL) },
];

/** Number of labels shown beside a name. */
const MOST_LABELS = 2;

const COLUMNS: readonly Column<Experiment>[] = [
  { id: "number", header: "#", width: 56, sort: "number", end: true, cell: (one) => <span className="number muted">{one.number}</span> },
  { id: "name", header: "Name", width: 200, sort: "name", cell: (one) => <Name experiment={one} /> },
  { id: "state", header: "State", width: 116, sort: "state", cell: (one) => <State state={stateOf(one)} /> },
  { id: "progress", header: "Progress", width: 124, sort: "progress", cell: (one) => <Progress value={one.progress} state={one.state} label={`progress of ${one.name}`} /> },
  { id: "best", header: "Best", width: 136, sort: "best.value", end: true, cell: (one) => <Best experiment={one} /> },
  { id: "trials", header: "Trials", width: 88, end: true, cell: (one) => <Trials experiment={one} /> },
  { id: "searcher", header: "Method", width: 120, sort: "searcher", cell: (one) => one.searcher.replaceAll("_", " ") },
  { id: "workspace", header: "Workspace", width: 120, sort: "workspace", cell: (one) => one.workspace },
  { id: "project", header: "Project", width: 120, sort: "project", cell: (one) => one.project },
  { id: "owner", header: "Owner", width: 84, sort: "owner", cell: (one) => one.owner },
  { id: "priority", header: "Priority", width: 84, sort: "priority", end: true, cell: (one) => <Num value={one.priority} /> },
  { id: "created", header: "Created", width: 96, sort: "created_at", cell: (one) => <Time at={one.created_at} /> },
  { id: "ended", header: "Ended", width: 104, sort: "ended_at", cell: (one) => <Time at={one.ended_at} /> },
  { id: "took", header: "Duration", width: 96, end: true, cell: (one) => <Elapsed from={one.started_at} to={one.ended_at} /> },
];

/** Returns all columns that these experiments have values for, and the visible ones. */
export function columnsOf(items: readonly Experiment[], columnIds: readonly string[]): Column<Experiment>[] {
  return [...COLUMNS, ...metricColumns(items), ...pointColumns(items, columnIds), ...labelColumns(items)];
}

/** True if a hyperparameter column is visible; the list then has to include hyperparameters. */
export function showsHyperparameters(columnIds: readonly string[]): boolean {
  return columnIds.some((id) => id.startsWith(POINT));
}

/** Returns columns for the other metrics that the loaded experiments have at their best validation. */
function metricColumns(items: readonly Experiment[]): Column<Experiment>[] {
  const names = new Set(items.flatMap((one) => Object.keys(one.best?.others ?? {})));
  return [...names].sort().map((name) => ({
    id: `${METRIC}${name}`,
    header: name,
    width: 120,
    end: true,
    cell: (one) => <Num value={one.best?.others[name]} />,
  }));
}

/** Returns columns for the hyperparameters of the loaded experiments, and for those that are visible before anything is loaded. */
function pointColumns(items: readonly Experiment[], columnIds: readonly string[]): Column<Experiment>[] {
  const chosen = columnIds.filter((id) => id.startsWith(POINT)).map((id) => id.slice(POINT.length));
  const names = new Set([...chosen, ...items.flatMap((one) => [...flattened(one.hyperparameters).keys()])]);
  return [...names].sort().map((name) => ({
    id: `${POINT}${name}`,
    header: name,
    width: 110,
    end: true,
    cell: (one) => <Point value={flattened(one.hyperparameters).get(name)} />,
  }));
}

/** Returns a column for each label of the loaded experiments. */
function labelColumns(items: readonly Experiment[]): Column<Experiment>[] {
  const names = new Set(items.flatMap((one) => one.labels));
  return [...names].sort().map((name) => ({
    id: `${LABEL}${name}`,
    header: name,
    width: 100,
    cell: (one) => one.labels.includes(name) && <Label name={name} narrows />,
  }));
}

function Point({ value }: { value: unknown }) {
  return typeof value === "number" ? <Num value={value} /> : <span className={value === undefined ? "muted" : undefined}>{sayValue(value)}</span>;
}

function Name({ experiment }: { experiment: Experiment }) {
  const rest = experiment.labels.slice(MOST_LABELS) ?? [];
  return (
    <span className={css.name}>
      <Link to="/experiments/$experiment" params={{ experiment: String(experiment.number) }} onClick={(event) => event.stopPropagation()} tabIndex={-1}>
        {experiment.name}
      </Link>
      {experiment.labels.slice(0, MOST_LABELS).map((label) => <Label key={label} name={label} narrows />)}
      {rest.length > 0 && (
        <span className="muted" title={rest.join(", ")}>
          +{rest.length}
        </span>
      )}
    </span>
  );
}

function Best({ experiment }: { experiment: Experiment }) {
  if (!experiment.best) return <span className="muted">–</span>;
  return (
    <span className={css.best} title={`${experiment.metric ?? ""} of trial ${experiment.best.trial_number} at step ${experiment.best.step}`}>
      <span className="muted">{experiment.metric}</span>
      <Num value={experiment.best.value} />
    </span>
  );
}

function Trials({ experiment }: { experiment: Experiment }) {
  const { running, error, planned } = experiment.trials;
  const ended = endedOf(experiment.trials);
  const summary = [`${running} running`, `${ended} ended`, error ? `${error} of them in error` : ""].filter(Boolean).join(", ");
  return (
    <span className={`${css.trials} number`} title={summary}>
      {running > 0 && <b className={css.running}>{running}</b>}
      {error > 0 && <b className={css.failed}>{error}</b>}
      <span>
        {ended}
        {planned ? <span className="muted">/{planned}</span> : null}
      </span>
    </span>
  );
}

/** One experiment on a phone. */
export function ExperimentCard({ experiment }: { experiment: Experiment }) {
  return (
    <span className={css.card}>
      <span className={css.cardHead}>
        <b>{experiment.name}</b>
        <State state={stateOf(experiment)} />
      </span>
      <Progress value={experiment.progress} state={experiment.state} label={`progress of ${experiment.name}`} />
      <span className={css.cardFoot}>
        <span className="muted number">#{experiment.number}</span>
        <span className="muted">
          <Time at={experiment.created_at} />
        </span>
        <Best experiment={experiment} />
      </span>
    </span>
  );
}
