import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Suspense, type ComponentType } from "react";
import type { ExperimentDetail } from "@/api/types";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { Page } from "@/parts/Page";
import { State } from "@/parts/State";
import { Tabs } from "@/parts/Tabs";
import { experimentQuery } from "@/training/queries";
import { AnalysisTab } from "./AnalysisTab";
import { ConfigTab } from "./ConfigTab";
import css from "./Experiment.module.css";
import { ExperimentActions } from "./ExperimentActions";
import { Overview } from "./Overview";
import type { ExperimentSearch } from "./search";
import { SearchTab } from "./SearchTab";
import { TrialsTab } from "./TrialsTab";

export interface TabProps {
  experiment: ExperimentDetail;
  search: ExperimentSearch;
  onSearch: (next: ExperimentSearch) => void;
}

interface Part {
  name: string;
  label: string;
  /** It fills the page and scrolls by itself. */
  fills?: boolean;
  body: ComponentType<TabProps>;
}

const PARTS: readonly Part[] = [
  { name: "", label: "Overview", body: Overview },
  { name: "trials", label: "Trials", fills: true, body: TrialsTab },
  { name: "analysis", label: "Analysis", body: AnalysisTab },
  { name: "search", label: "Search", body: SearchTab },
  { name: "config", label: "Config", body: ConfigTab },
];

export default function ExperimentPage() {
  const { experiment: reference = "", tab = "" } = useParams({ strict: false });
  const search = useSearch({ strict: false }) as ExperimentSearch;
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery(experimentQuery(reference));
  const part = PARTS.find(({ name }) => name === tab);
  const onSearch = (next: ExperimentSearch) => void navigate({ to: ".", search: next as never, replace: true });
  if (error && data === undefined) {
    return (
      <Page title={`Experiment ${reference}`}>
        <Trouble error={error} retry={() => void refetch()} />
      </Page>
    );
  }
  const Body = part?.body;
  return (
    <Page
      title={data?.name ?? "…"}
      name={data ? `${data.name} (${data.number})` : `Experiment ${reference}`}
      aside={data && <Aside experiment={data} />}
      actions={data && <ExperimentActions experiment={data} />}
      fills={part?.fills}
      tabs={<Tabs label="Parts of the experiment" tabs={PARTS.map((one) => tabOf(one, reference, data))} />}
    >
      {data === undefined ? (
        <Loading rows={10} />
      ) : Body ? (
        <Suspense fallback={<Loading rows={10} />}>
          <Body experiment={data} search={search} onSearch={onSearch} />
        </Suspense>
      ) : (
        <Empty title={`An experiment has no part "${tab}"`}>
          <Link to="/experiments/$experiment" params={{ experiment: reference }}>
            See its overview
          </Link>
        </Empty>
      )}
    </Page>
  );
}

function tabOf({ name, label }: Part, experiment: string, data: ExperimentDetail | undefined) {
  const params = { experiment, ...(name && { tab: name }) };
  return { label, to: name ? "/experiments/$experiment/$tab" : "/experiments/$experiment", params, count: name === "trials" && data ? countOf(data) : undefined };
}

function countOf({ trials }: ExperimentDetail): number {
  return trials.queued + trials.running + trials.parked + trials.stopping + trials.completed + trials.stopped + trials.error + trials.cancelled + trials.invalid;
}

function Aside({ experiment }: { experiment: ExperimentDetail }) {
  return (
    <span className={css.aside}>
      <span className="muted number">#{experiment.number}</span>
      <State state={experiment.state} />
      {experiment.labels.map((label) => (
        <span key={label} className={css.label}>
          {label}
        </span>
      ))}
    </span>
  );
}
