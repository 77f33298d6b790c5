import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "@/parts/Button";
import { Loading, Trouble } from "@/parts/Notes";
import { counted, formatBytes, formatNumber } from "@/parts/format";
import { Markdown } from "@/parts/Markdown";
import { Card, Page, Section } from "@/parts/Page";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import { trialQuery } from "@/training/queries";
import { flattened, sayValue } from "@/training/values";
import { EditVersion } from "./Editing";
import { Lineage } from "./Lineage";
import css from "./Models.module.css";
import { Aliases, Tags } from "./ModelsPage";
import { Promotion } from "./Promotion";
import { StageBadge } from "./StageBadge";
import { metricsOf, modelQuery, versionQuery, type ModelVersion } from "./data";

/** One version: stage and approvals, origin, metrics and lineage. */
export default function VersionPage() {
  const { model: reference, version: number } = useParams({ from: "/models/$model/$version" });
  const model = useQuery(modelQuery(reference));
  const version = useQuery(versionQuery(reference, number));
  const mayWrite = useMay()("model.write");
  const [isEdited, setEdited] = useState(false);
  const trouble = model.error ?? version.error;
  if (trouble) return <Page title="Version"><Trouble error={trouble} retry={() => void Promise.all([model.refetch(), version.refetch()])} /></Page>;
  if (!model.data || !version.data) return <Page title="Version"><Loading /></Page>;
  return (
    <Page
      name={`${model.data.name} ${version.data.number}`}
      title={<><Link to="/models/$model" params={{ model: reference }} className={css.up}>{model.data.name}</Link> <span className="muted">version</span> {version.data.number}</>}
      aside={<><StageBadge stage={version.data.stage} /><Aliases aliases={model.data.aliases ?? {}} of={version.data.number} /><Tags tags={version.data.tags ?? []} /></>}
      actions={<>{mayWrite && <Button onClick={() => setEdited(true)}>Edit…</Button>}<Promotion model={reference} version={version.data} /></>}
    >
      {version.data.comment && <p className={css.description}>{version.data.comment}</p>}
      <Pending version={version.data} />
      <div className={css.two}>
        <Facts version={version.data} />
        <div>
          <Values title="Metrics" of={metricsOf(version.data)} />
          <Values title="Hyperparameters" of={Object.fromEntries(flattened(version.data.lineage.hyperparameters))} />
        </div>
      </div>
      <Section title="Lineage"><Lineage version={version.data} /></Section>
      <History version={version.data} />
      {version.data.notes && <Section title="Notes"><Markdown text={version.data.notes} /></Section>}
      {isEdited && <EditVersion model={reference} version={number} onClose={() => setEdited(false)} />}
    </Page>
  );
}

function Pending({ version }: { version: ModelVersion }) {
  const { pending } = version;
  if (!pending) return null;
  const approved = pending.approvals?.length ?? 0;
  return (
    <p className={css.waiting} role="status">
      <b>{pending.by}</b> requests stage <b>{pending.stage}</b>{pending.reason && `: ${pending.reason}`}. {approved} of {pending.needed} approved{approved > 0 && ` (${pending.approvals?.map((one) => one.by).join(", ")})`}.
    </p>
  );
}

function Facts({ version }: { version: ModelVersion }) {
  const { lineage } = version;
  const trial = useQuery({ ...trialQuery(lineage.trial), retry: false });
  return (
    <Section title="Origin">
      <Card className={css.facts}>
        <dl>
          <dt>Trial</dt>
          <dd><Link to="/trials/$trial" params={{ trial: lineage.trial }} className={css.link}>{trial.data ? `${trial.data.experiment_number}.${trial.data.number}` : lineage.trial}</Link> at step {formatNumber(lineage.step)}</dd>
          <dt>Checkpoint</dt>
          <dd><code>{version.checkpoint.slice(0, 13)}</code>, {counted(version.files, "file")}, {formatBytes(version.size_bytes)}</dd>
          <dt>Code</dt>
          <dd><code>{lineage.code_sha256?.slice(0, 13) ?? "–"}</code></dd>
          <dt>Data</dt>
          <dd>{lineage.datasets?.map((one) => [one.name, one.version].filter(Boolean).join(" ")).join(", ") || "not recorded"}</dd>
          <dt>Registered</dt>
          <dd><Time at={version.created_at} /> by {version.owner}</dd>
        </dl>
      </Card>
    </Section>
  );
}

/** Names and values, such as the metrics; no section without any. */
function Values({ title, of }: { title: string; of: Record<string, unknown> }) {
  const rows = Object.entries(of);
  if (rows.length === 0) return null;
  return (
    <Section title={title}>
      <Card className={css.facts}>
        <dl>
          {rows.map(([name, value]) => (
            <div key={name} className={css.pair}>
              <dt>{name}</dt>
              <dd className="number">{sayValue(value)}</dd>
            </div>
          ))}
        </dl>
      </Card>
    </Section>
  );
}

function History({ version }: { version: ModelVersion }) {
  const stages = version.stages ?? [];
  if (stages.length === 0) return null;
  return (
    <Section title="Stage history">
      <ol className={css.history}>
        {stages.map((one) => (
          <li key={`${one.stage} ${one.at}`}>
            <StageBadge stage={one.stage} />
            <span>by {one.by}{one.reason && `: ${one.reason}`}{(one.approvals?.length ?? 0) > 0 && `, approved by ${one.approvals?.map((yes) => yes.by).join(", ")}`}</span>
            <span className="muted"><Time at={one.at} /></span>
          </li>
        ))}
      </ol>
    </Section>
  );
}
