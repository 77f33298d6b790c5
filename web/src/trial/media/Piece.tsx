import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { counted, formatNumber } from "@/parts/format";
import { Markdown } from "@/parts/Markdown";
import { Complaint, Loading } from "@/parts/Notes";
import { PlainTable } from "@/parts/PlainTable";
import { barsOf, bytesOf, cellText, PICTURES, tableOf, textOf, type Bars, type Item, type Table } from "./contents";
import css from "./Media.module.css";

const LARGE_ENOUGH_PX = 160;
const MOST_ROWS = 100;
const MOST_COLUMNS = 50;
const MOST_LETTERS = 20_000;

/** One media item by kind. Content of scripts is shown only as pixels, numbers and text. */
export function Piece({ trial, item }: { trial: string; item: Item }) {
  const { data, error } = useQuery({
    queryKey: keys.immutable("media content", { trial, id: item.id, sha256: item.sha256 }),
    queryFn: async ({ signal }) => bytesOf((await ask(api.GET("/v1/trials/{trial}/media/{media}/content", { params: { path: { trial, media: item.id } }, signal }))).base64),
    staleTime: Infinity,
    gcTime: 60_000,
  });
  if (error) return <Complaint error={error} />;
  if (!data) return <Loading rows={3} label={`loading ${item.name}`} />;
  const caption = typeof item.about.caption === "string" ? item.about.caption : "";
  return (
    <figure className={css.piece}>
      <Shown item={item} bytes={data} caption={caption} />
      {caption && <figcaption className="muted">{caption}</figcaption>}
    </figure>
  );
}

function Shown({ item, bytes, caption }: { item: Item; bytes: Uint8Array<ArrayBuffer>; caption: string }) {
  const called = `${item.name} at step ${item.step}`;
  if (item.kind === "image" && PICTURES.has(item.content_type)) return <Picture bytes={bytes} type={item.content_type} called={caption || called} />;
  if (item.kind === "text") return <Text text={textOf(bytes)} />;
  if (item.kind === "table") return <Rows table={tableOf(bytes)} />;
  if (item.kind === "histogram") return <Histogram bars={barsOf(bytes)} called={called} />;
  return <NotShown />;
}

function Picture({ bytes, type, called }: { bytes: Uint8Array<ArrayBuffer>; type: string; called: string }) {
  const [url, setUrl] = useState<string | null>(null);
  const [isBroken, setBroken] = useState(false);
  const [width, setWidth] = useState<number | undefined>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    setBroken(false);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  if (isBroken) return <NotShown />;
  return url === null ? null : <img src={url} alt={called} width={width} onLoad={(event) => setWidth(widthOf(event.currentTarget.naturalWidth))} onError={() => setBroken(true)} />;
}

/** Enlarges images of few pixels so that each pixel is visible. */
function widthOf(pixels: number): number | undefined {
  const times = Math.floor(LARGE_ENOUGH_PX / pixels);
  return times > 1 ? pixels * times : undefined;
}

function Text({ text }: { text: string }) {
  return (
    <div className={css.text} tabIndex={0} role="region" aria-label="text">
      <Markdown text={text.slice(0, MOST_LETTERS)} />
      {text.length > MOST_LETTERS && <p className="muted">… {formatNumber(text.length - MOST_LETTERS)} letters more</p>}
    </div>
  );
}

function Rows({ table }: { table: Table | null }) {
  if (table === null) return <NotShown />;
  const columns = table.columns.slice(0, MOST_COLUMNS);
  return (
    <div className={css.rows} tabIndex={0} role="region" aria-label="table rows">
      <PlainTable>
        <thead>
          <tr>
            {columns.map((name, at) => (
              <th key={at} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.slice(0, MOST_ROWS).map((row, at) => (
            <tr key={at}>
              {columns.map((_, column) => (
                <td key={column} className={typeof row[column] === "number" ? "number" : undefined}>
                  {cellText(row[column])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </PlainTable>
      {(table.rows.length > MOST_ROWS || table.columns.length > MOST_COLUMNS) && (
        <p className="muted">
          Only the first of {counted(table.rows.length, "row")} and {counted(table.columns.length, "column")} are shown.
        </p>
      )}
    </div>
  );
}

/** Histogram with bars as wide as their bins, scaled to the tallest. */
function Histogram({ bars, called }: { bars: Bars | null; called: string }) {
  if (bars === null) return <NotShown />;
  const { edges, counts, others } = bars;
  const [least, greatest] = [edges[0] as number, edges.at(-1) as number];
  const across = (value: number) => (greatest > least ? (100 * (value - least)) / (greatest - least) : value === least ? 0 : 100);
  const tallest = Math.max(1, ...counts);
  return (
    <>
      <svg className={css.bars} viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label={`${called}: ${formatNumber(counts.reduce((sum, one) => sum + one, 0))} values from ${formatNumber(least)} to ${formatNumber(greatest)}`}>
        {counts.map((count, at) => {
          const [left, right] = greatest > least ? [across(edges[at] as number), across(edges[at + 1] as number)] : [0, 100];
          return <rect key={at} x={left} width={Math.max(0.1, right - left - 0.15)} y={40 - (40 * count) / tallest} height={(40 * count) / tallest} />;
        })}
      </svg>
      <p className={`${css.ends} number muted`}>
        <span>{formatNumber(least)}</span>
        <span>
          up to {formatNumber(tallest)} per bin{others > 0 && `; ${formatNumber(others)} not finite`}
        </span>
        <span>{formatNumber(greatest)}</span>
      </p>
    </>
  );
}

function NotShown() {
  return <p className="muted">The content does not match its type and cannot be displayed. Run <code>muster trial media download</code> to get the file.</p>;
}
