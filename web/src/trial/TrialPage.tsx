import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, useState } from "react";
import type { Trial } from "@/api/types";
import { Button } from "@/parts/Button";
import { State } from "@/parts/State";
import { TabbedPage, type Part } from "@/parts/TabbedPage";
import { useMay } from "@/session/session";
import { CheckpointsTab } from "./CheckpointsTab";
import { EventsTab } from "./EventsTab";
import { KillDialog } from "@/training/KillDialog";
import { LogsTab } from "./LogsTab";
import { MetricsTab } from "./MetricsTab";
import { useTrial } from "./queries";
import { RunsTab } from "./RunsTab";
import type { TrialSearch } from "./search";
import type { TrialTabProps } from "./tab";
import css from "./Trial.module.css";

const MediaTab = lazy(() => import("./MediaTab"));

const PARTS: readonly Part<TrialTabProps>[] = [
  { name: "", label: "Metrics", body: MetricsTab },
  { name: "media", label: "Media", body: MediaTab },
  { name: "logs", label: "Logs", fills: true, body: LogsTab },
  { name: "checkpoints", label: "Checkpoints", body: CheckpointsTab },
  { name: "runs", label: "Runs", body: RunsTab },
  { name: "events", label: "Events", body: EventsTab },
];

export default function TrialPage() {
  const { trial: reference = "", tab = "" } = useParams({ strict: false });
  const search = useSearch({ strict: false }) as TrialSearch;
  const navigate = useNavigate();
  const onSearch = (next: TrialSearch) => void navigate({ to: ".", search: next as never, replace: true });
  return (
    <TabbedPage
      called={`Trial ${reference}`}
      query={useTrial(reference)}
      to="/trials/$trial"
      params={{ trial: reference }}
      tab={tab}
      parts={PARTS}
      show={(trial) => ({
        title: <Title trial={trial} />,
        name: `Trial ${trial.experiment_number}.${trial.number}`,
        aside: <State state={trial.finishing ? "finishing" : trial.state} />,
        actions: (
          <>
            <Button icon="compare" onClick={() => void navigate({ href: `/compare?trials=${trial.experiment_number}.${trial.number}` })}>
              Compare
            </Button>
            <Kill trial={trial} />
          </>
        ),
        props: { trial, search, onSearch },
      })}
    />
  );
}

/** Rendered only if the trial has not ended and the user may kill it. */
function Kill({ trial }: { trial: Trial }) {
  const may = useMay();
  const [isAsking, setAsking] = useState(false);
  const close = () => setAsking(false);
  return (
    <>
      {!trial.final && may("experiment.write") && (
        <Button kind="danger" icon="close" onClick={() => setAsking(true)}>
          Kill…
        </Button>
      )}
      {isAsking && <KillDialog experiment={trial.experiment_number} trials={[`${trial.experiment_number}.${trial.number}`]} onClose={close} />}
    </>
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
