import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ExperimentDetail } from "@/api/types";
import { State } from "@/parts/State";
import { TabbedPage, type Part } from "@/parts/TabbedPage";
import { Label } from "@/training/Label";
import { experimentQuery } from "@/training/queries";
import { stateOf } from "@/training/states";
import { AnalysisTab } from "./AnalysisTab";
import { CodeTab } from "./CodeTab";
import { ConfigTab } from "./ConfigTab";
import css from "./Experiment.module.css";
import { ExperimentActions } from "./ExperimentActions";
import { LogsTab } from "./LogsTab";
import { Overview } from "./Overview";
import type { ExperimentSearch } from "./search";
import { SearchTab } from "./SearchTab";
import type { TabProps } from "./tab";
import { TimelineTab } from "./TimelineTab";
import { TrialsTab } from "./TrialsTab";

const PARTS: readonly Part<TabProps>[] = [
  { name: "", label: "Overview", body: Overview },
  { name: "trials", label: "Trials", fills: true, body: TrialsTab },
  { name: "analysis", label: "Analysis", body: AnalysisTab },
  { name: "search", label: "Search", body: SearchTab },
  { name: "timeline", label: "Timeline", fills: true, body: TimelineTab },
  { name: "logs", label: "Logs", fills: true, body: LogsTab },
  { name: "config", label: "Config", body: ConfigTab },
  { name: "code", label: "Code", fills: true, body: CodeTab },
];

export default function ExperimentPage() {
  const { experiment: reference = "", tab = "" } = useParams({ strict: false });
  const search = useSearch({ strict: false }) as ExperimentSearch;
  const navigate = useNavigate();
  const onSearch = (next: ExperimentSearch) => void navigate({ to: ".", search: next as never, replace: true });
  return (
    <TabbedPage
      called={`Experiment ${reference}`}
      query={useQuery(experimentQuery(reference))}
      to="/experiments/$experiment"
      params={{ experiment: reference }}
      tab={tab}
      parts={PARTS}
      show={(experiment) => ({
        title: experiment.name,
        name: `${experiment.name} (${experiment.number})`,
        aside: <Aside experiment={experiment} />,
        actions: <ExperimentActions experiment={experiment} />,
        counts: { trials: countOf(experiment) },
        props: { experiment, search, onSearch },
      })}
    />
  );
}

function countOf({ trials }: ExperimentDetail): number {
  return trials.queued + trials.running + trials.parked + trials.stopping + trials.finishing + trials.completed + trials.stopped + trials.error + trials.cancelled + trials.invalid;
}

function Aside({ experiment }: { experiment: ExperimentDetail }) {
  return (
    <span className={css.aside}>
      <span className="muted number">#{experiment.number}</span>
      <State state={stateOf(experiment)} />
      {experiment.labels.map((label) => <Label key={label} name={label} />)}
    </span>
  );
}
