import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, ask } from "@/api/client";
import { every } from "@/api/every";
import { keys } from "@/api/keys";
import { counted, formatBytes, formatNumber } from "@/parts/format";
import { Complaint, Empty, Loading, Trouble } from "@/parts/Notes";
import { Card, Section } from "@/parts/Page";
import { piecesAt, type Name } from "./media/contents";
import css from "./media/Media.module.css";
import { Piece } from "./media/Piece";
import type { TrialTabProps } from "./tab";

/** Maximum number of items that are loaded per name. */
const MOST_PIECES = 1000;
/** Maximum number of items that are shown per step, such as the images of a batch. */
const MOST_OF_STEP = 12;
const KINDS = { image: "Images", table: "Tables", text: "Texts", histogram: "Histograms" } as const;

/** Media that the script logged, at one step. */
export default function MediaTab({ trial, search, onSearch }: TrialTabProps) {
  const { data, error, refetch } = useQuery(namesQuery(trial.id));
  const [first, last] = useMemo(() => stretchOf(data?.items ?? []), [data]);
  if (error && !data) return <Trouble error={error} retry={() => void refetch()} />;
  if (!data) return <Loading rows={8} label="loading media" />;
  if (data.items.length === 0) {
    return (
      <Empty icon="file" title="No media yet">
        <p>Images, tables, texts and histograms that your script logs appear here. Use <code>trial.log_image</code>, <code>trial.log_table</code>, <code>trial.log_text</code> or <code>trial.log_histogram</code>.</p>
      </Empty>
    );
  }
  const at = search.at === undefined ? null : Math.min(Math.max(search.at, first), last);
  const files = data.items.filter(({ kind }) => kind === "events");
  return (
    <>
      {first < last && (
        <label className={css.steps}>
          <span>Step</span>
          <input type="range" min={first} max={last} value={at ?? last} onChange={({ target }) => onSearch({ ...search, at: Number(target.value) === last ? undefined : Number(target.value) })} />
          <output className="number">{at === null ? `${formatNumber(last)} (latest)` : formatNumber(at)}</output>
        </label>
      )}
      {Object.entries(KINDS).map(([kind, title]) => {
        const some = data.items.filter((one) => one.kind === kind);
        return some.length === 0 ? null : (
          <Section key={kind} title={title}>
            <div className={css.names}>
              {some.map((name) => (
                <Named key={`${name.group}/${name.name}`} trial={trial.id} name={name} at={at} />
              ))}
            </div>
          </Section>
        );
      })}
      {files.length > 0 && (
        <p className={css.note}>
          {counted(files.length, "event file")} for TensorBoard, {formatBytes(files.reduce((sum, { size_bytes }) => sum + size_bytes, 0))}: <code>muster trial media download {trial.experiment_number}.{trial.number} FOLDER --kind events</code>
        </p>
      )}
      {data.isCut && <p className={css.note}>Only the first {data.items.length} names are visible. Run <code>muster trial media list</code> for all.</p>}
    </>
  );
}

/** Items of one name at a step: the latest up to that step. */
function Named({ trial, name, at }: { trial: string; name: Name; at: number | null }) {
  const { data, error } = useQuery(itemsQuery(trial, name));
  const visible = useMemo(() => piecesAt(data?.items ?? [], at), [data, at]);
  const [piece] = visible;
  return (
    <Card className={css.named}>
      <header>
        <h3 title={name.name}>{name.name}</h3>
        <span className="muted">
          {name.group}
          {piece && ` · step ${formatNumber(piece.step)}${piece.run > 1 ? ` · run ${piece.run}` : ""}`}
        </span>
      </header>
      {error ? <Complaint error={error} /> : null}
      {!data && !error && <Loading rows={4} label={`loading ${name.name}`} />}
      {data && !piece && <p className="muted">No items up to this step.</p>}
      <div className={css.pieces}>
        {visible.slice(0, MOST_OF_STEP).map((one) => (
          <Piece key={one.id} trial={trial} item={one} />
        ))}
      </div>
      {visible.length > MOST_OF_STEP && <p className="muted">{MOST_OF_STEP} of {visible.length} items of this step are visible.</p>}
      {data?.isCut && <p className="muted">Of the first {data.items.length} pieces.</p>}
    </Card>
  );
}

/** Names of media with the first and last step. */
function stretchOf(names: readonly Name[]): [number, number] {
  const some = names.filter(({ kind }) => kind !== "events");
  return [Math.min(...some.map((one) => one.first_step)), Math.max(...some.map((one) => one.last_step))];
}

function namesQuery(trial: string) {
  return {
    queryKey: keys.ofTrial(trial, "media names"),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      every((cursor) => ask(api.GET("/v1/trials/{trial}/media/names", { params: { path: { trial }, query: { limit: 200, cursor } }, signal })), 200),
  };
}

/** Refetched when the name has more items. */
function itemsQuery(trial: string, { kind, group, name, count, last_step }: Name) {
  const query = { kind: [kind], group, name: [name] };
  return {
    queryKey: keys.immutable("media", { trial, ...query, count, last_step }),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      every((cursor) => ask(api.GET("/v1/trials/{trial}/media", { params: { path: { trial }, query: { ...query, limit: 200, cursor } }, signal })), MOST_PIECES),
    placeholderData: <Found,>(before: Found) => before,
  };
}
