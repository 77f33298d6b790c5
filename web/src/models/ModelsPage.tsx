import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { DataTable } from "@/parts/table/DataTable";
import type { Column } from "@/parts/table/props";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { counted } from "@/parts/format";
import { Page } from "@/parts/Page";
import { Time } from "@/parts/Time";
import css from "./Models.module.css";
import { modelsQuery, type Model } from "./data";

const COLUMNS: readonly Column<Model>[] = [
  { id: "name", header: "Name", width: 220, cell: (model) => <b className={css.name}>{model.name}</b> },
  { id: "workspace", header: "Workspace", cell: (model) => model.workspace },
  { id: "versions", header: "Versions", width: 90, end: true, cell: (model) => <span className="number">{model.versions}</span> },
  { id: "aliases", header: "Aliases", width: 220, cell: (model) => <Aliases aliases={model.aliases ?? {}} /> },
  { id: "tags", header: "Tags", width: 160, cell: (model) => model.tags?.join(", ") || <span className="muted">–</span> },
  { id: "owner", header: "Owner", width: 110, cell: (model) => model.owner },
  { id: "created", header: "Created", width: 110, cell: (model) => <Time at={model.created_at} /> },
];

export default function ModelsPage() {
  const models = useQuery(modelsQuery);
  const navigate = useNavigate();
  return (
    <Page title="Models" fills>
      {models.error ? (
        <Trouble error={models.error} retry={() => void models.refetch()} />
      ) : models.data === undefined ? (
        <Loading rows={8} />
      ) : (
        <DataTable
          label="models"
          items={models.data.items}
          columns={COLUMNS}
          idOf={(model) => model.id}
          onOpen={(model) => void navigate({ to: "/models/$model", params: { model: model.id } })}
          card={(model) => (
            <span className={css.card}>
              <b>{model.name}</b>
              <span className="muted">
                {model.workspace}, {counted(model.versions, "version")}
              </span>
              <Aliases aliases={model.aliases ?? {}} />
            </span>
          )}
          empty={
            <Empty icon="models" title="No models yet">
              <p>
                A model is a named series of versions; each version is a registered checkpoint with its lineage. Register a checkpoint on the Checkpoints tab of its trial, or run <code>muster model create digits</code> and <code>muster model register digits --experiment 31</code>.
              </p>
            </Empty>
          }
        />
      )}
    </Page>
  );
}

export function Tags({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return null;
  return <span className={css.aliases}>{tags.map((tag) => <span key={tag} className={css.tag}>{tag}</span>)}</span>;
}

export function Aliases({ aliases, of }: { aliases: Record<string, number>; of?: number }) {
  const names = Object.entries(aliases).filter(([, number]) => of === undefined || number === of);
  if (names.length === 0) return of === undefined ? <span className="muted">–</span> : null;
  return (
    <span className={css.aliases}>
      {names.map(([alias, number]) => (
        <span key={alias} className={css.alias}>
          {alias}
          {of === undefined && <span className="number"> {number}</span>}
        </span>
      ))}
    </span>
  );
}
