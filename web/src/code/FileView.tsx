import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, type ReactNode } from "react";
import { Copy } from "@/parts/Copy";
import { formatBytes } from "@/parts/format";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import css from "./Code.module.css";
import { changedRows, plainRows } from "./lines";
import { Lines } from "./Lines";
import { fileQuery } from "./queries";
import type { CodeFile, Mark } from "./tree";

interface FileViewProps {
  experiment: string;
  against: string | undefined;
  file: CodeFile;
  mark: Mark | null;
  line?: number;
  onLine: (line: number) => void;
}

/** One file: its lines, or what of them changed from the other experiment's. */
export function FileView({ experiment, against, file, mark, line, onLine }: FileViewProps) {
  const [isWhole, setWhole] = useState(false);
  const hasOld = mark === "changed" || mark === "gone";
  const now = useQuery({ ...fileQuery(experiment, file.path), enabled: mark !== "gone" });
  const old = useQuery({ ...fileQuery(against ?? "", file.path), enabled: hasOld });
  const asked = [...(mark === "gone" ? [] : [now]), ...(hasOld ? [old] : [])];
  const texts = asked.map(({ data }) => data?.text);
  const isTwo = hasOld || mark === "new";
  const [before, after] = [hasOld ? (old.data?.text ?? "") : "", mark === "gone" ? "" : (now.data?.text ?? "")];
  const isLong = asked.some(({ data }) => data?.is_cut);
  const rows = useMemo(() => (isTwo ? changedRows(before, after, isWhole || line !== undefined) : plainRows(after)), [before, after, isTwo, isWhole, line]);
  const head = (
    <header className={css.head}>
      <b className="mono">{file.path}</b>
      <span className="muted">
        {formatBytes(file.size_bytes)} {mark && mark !== "same" ? `· ${mark}` : mark === "same" ? "· the same in both" : ""}
      </span>
      {mark !== "gone" && now.data?.text != null && <Copy text={now.data.text} label="Copy what is shown" />}
    </header>
  );
  const failed = asked.find(({ error }) => error);
  const body = (): ReactNode => {
    if (failed) return <Trouble error={failed.error} retry={() => void failed.refetch()} />;
    if (texts.includes(undefined)) return <Loading rows={8} />;
    if (texts.includes(null)) return <NoText file={file} />;
    if (rows.length === 0) return <Empty icon="file" title={isTwo ? "Only the ends of lines differ" : "It is empty"} />;
    return <Lines label={file.path} rows={rows} isTwo={isTwo} at={line} onLine={onLine} onWhole={() => setWhole(true)} />;
  };
  return (
    <section className={css.file}>
      {head}
      {isLong && <p className={css.cut}>It is long: these are its first 192 KiB.</p>}
      {body()}
    </section>
  );
}

function NoText({ file }: { file: CodeFile }) {
  return (
    <Empty icon="file" title="It is no text">
      <p>
        SHA-256 <code>{file.sha256}</code>
      </p>
    </Empty>
  );
}
