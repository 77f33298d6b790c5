import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Loading, Trouble, Empty } from "@/parts/Notes";
import { PlainTable } from "@/parts/PlainTable";
import { Button } from "@/parts/Button";
import { formatBytes, formatNumber } from "@/parts/format";
import { Markdown } from "@/parts/Markdown";
import { Page, Section } from "@/parts/Page";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import { AliasDialog } from "./AliasDialog";
import { Comparison } from "./Comparison";
import { EditModel } from "./Editing";
import css from "./Models.module.css";
import { Aliases, Tags } from "./ModelsPage";
import { StageBadge } from "./StageBadge";
import { modelQuery, versionsQuery, type Model, type ModelVersion } from "./data";

/** One model: versions with stage and aliases, comparison and notes. */
export default function ModelPage() {
  const { model: reference } = useParams({ from: "/models/$model" });
  const model = useQuery(modelQuery(reference));
  const versions = useQuery(versionsQuery(reference));
  const mayWrite = useMay()("model.write");
  const [act, setAct] = useState<"edit" | "alias" | null>(null);
  const close = () => setAct(null);
  const trouble = model.error ?? versions.error;
  if (trouble) return <Page title="Model"><Trouble error={trouble} retry={() => void Promise.all([model.refetch(), versions.refetch()])} /></Page>;
  if (!model.data || !versions.data) return <Page title="Model"><Loading /></Page>;
  return (
    <Page title={model.data.name} aside={<><span className="muted">{model.data.workspace}</span><Tags tags={model.data.tags ?? []} /></>} actions={mayWrite && <><Button icon="tag" disabled={versions.data.items.length === 0} onClick={() => setAct("alias")}>Set alias…</Button><Button onClick={() => setAct("edit")}>Edit…</Button></>}>
      {model.data.description && <p className={css.description}>{model.data.description}</p>}
      <Section title="Versions">
        {versions.data.items.length === 0 ? <Empty icon="models" title="No versions yet">A version is a registered checkpoint. Register one on the Checkpoints tab of its trial, or with <code>muster model register</code>.</Empty> : <Versions model={model.data} versions={versions.data.items} />}
      </Section>
      {versions.data.items.length > 1 && (
        <Section title="Compare">
          <Comparison model={reference} versions={versions.data.items} aliases={model.data.aliases ?? {}} />
        </Section>
      )}
      {model.data.notes && (
        <Section title="Notes">
          <Markdown text={model.data.notes} />
        </Section>
      )}
      {act === "edit" && <EditModel model={reference} onClose={close} />}
      {act === "alias" && <AliasDialog model={model.data} versions={versions.data.items} onClose={close} />}
    </Page>
  );
}

function Versions({ model, versions }: { model: Model; versions: readonly ModelVersion[] }) {
  const navigate = useNavigate();
  const metrics = [...new Set(versions.flatMap((version) => Object.keys(version.lineage.metrics)))].slice(0, 3);
  return (
    <PlainTable>
      <thead>
        <tr>
          <th>Version</th>
          <th>Stage</th>
          <th>Aliases</th>
          {metrics.map((metric) => <th key={metric} data-end>{metric}</th>)}
          <th data-end>Size</th>
          <th>Created by</th>
          <th>Created</th>
        </tr>
      </thead>
      <tbody>
        {versions.map((version) => (
          <tr key={version.id} data-opens onClick={() => void navigate({ to: "/models/$model/$version", params: { model: model.id, version: String(version.number) } })}>
            <td>
              <Link to="/models/$model/$version" params={{ model: model.id, version: String(version.number) }} className={css.name}>
                {version.number} {version.name && <span className="muted">{version.name}</span>}
              </Link>
            </td>
            <td><StageBadge stage={version.stage} pending={version.pending?.stage} /></td>
            <td><Aliases aliases={model.aliases ?? {}} of={version.number} /></td>
            {metrics.map((metric) => <td key={metric} data-end>{formatNumber(version.lineage.metrics[metric])}</td>)}
            <td data-end>{formatBytes(version.size_bytes)}</td>
            <td>{version.owner}</td>
            <td><Time at={version.created_at} /></td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  );
}
