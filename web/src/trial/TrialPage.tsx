import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ComponentType } from "react";
import type { Trial } from "@/api/types";
import { Button } from "@/parts/Button";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { Page } from "@/parts/Page";
import { State } from "@/parts/State";
import { Tabs } from "@/parts/Tabs";
import { CheckpointsTab } from "./CheckpointsTab";
import { LogsTab } from "./LogsTab";
import { MetricsTab } from "./MetricsTab";
import { useTrial } from "./queries";
import { RunsTab } from "./RunsTab";
import type { TrialSearch } from "./search";
import css from "./Trial.module.css";

export interface TrialTabProps {
  trial: Trial;
  search: TrialSearch;
  onSearch: (next: TrialSearch) => void;
}

interface Part {
  name: string;
  label: string;
  fills?: boolean;
  body: ComponentType<TrialTabProps>;
}

const PARTS: readonly Part[] = [
  { name: "", label: "Metrics", body: MetricsTab },
  { name: "logs", label: "Logs", fills: true, body: LogsTab },
  { name: "checkpoints", label: "Checkpoints", body: CheckpointsTab },
  { name: "runs", label: "Runs", body: RunsTab },
];

export default function TrialPage() {
  const { trial: reference = "", tab = "" } = useParams({ strict: false });
  const search = useSearch({ strict: false }) as TrialSearch;
  const navigate = useNavigate();
  const { data, error, refetch } = useTrial(reference);
  const part = PARTS.find(({ name }) => name === tab);
  const Body = part?.body;
  if (error && data === undefined) {
    return (
      <Page title={`Trial ${reference}`}>
        <Trouble error={error} retry={() => void refetch()} />
      </Page>
    );
  }
  return (
    <Page
      title={data ? <Title trial={data} /> : `Trial ${reference}`}
      name={`Trial ${data ? `${data.experiment_number}.${data.number}` : reference}`}
      aside={data && <State state={data.state} />}
      actions={
        data && (
          <Button icon="compare" onClick={() => void navigate({ href: `/compare?trials=${data.experiment_number}.${data.number}` })}>
            Compare
          </Button>
        )
      }
      fills={part?.fills}
      tabs={<Tabs label="Parts of the trial" tabs={PARTS.map(({ name, label }) => ({ label, to: name ? "/trials/$trial/$tab" : "/trials/$trial", params: { trial: reference, ...(name && { tab: name }) } }))} />}
    >
      {data === undefined ? (
        <Loading rows={10} />
      ) : Body ? (
        <Body trial={data} search={search} onSearch={(next) => void navigate({ to: ".", search: next as never, replace: true })} />
      ) : (
        <Empty title={`A trial has no part "${tab}"`} />
      )}
    </Page>
  );
}

function Title({ trial }: { trial: Trial }) {
  return (
    <span className={css.title}>
      <Link to="/experiments/$experiment" params={{ experiment: String(trial.experiment_number) }} className={css.up}>
        Experiment {trial.experiment_number}
      </Link>
      <span className="muted">/</span>
      <span>
        Trial {trial.experiment_number}.{trial.number}
      </span>
    </span>
  );
}
