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

/** One file: its lines, or its differences from the other experiment. */
export function FileView({ experiment, against, file, mark, line, onLine }: FileViewProps) {
  const [isWhole, setWhole] = useState(false);
  const hasOld = mark === "changed" || mark === "deleted";
  const now = useQuery({ ...fileQuery(experiment, file.path), enabled: mark !== "deleted" });
  const old = useQuery({ ...fileQuery(against ?? "", file.path), enabled: hasOld });
  const query = [...(mark === "deleted" ? [] : [now]), ...(hasOld ? [old] : [])];
  const texts = query.map(({ data }) => data?.text);
  const isTwo = hasOld || mark === "new";
  const [before, after] = [hasOld ? (old.data?.text ?? "") : "", mark === "deleted" ? "" : (now.data?.text ?? "")];
  const isLong = query.some(({ data }) => data?.is_cut);
  const rows = useMemo(() => (isTwo ? changedRows(before, after, isWhole || line !== undefined) : plainRows(after)), [before, after, isTwo, isWhole, line]);
  const head = (
    <header className={css.head}>
      <b className="mono">{file.path}</b>
      <span className="muted">
        {formatBytes(file.size_bytes)} {mark && mark !== "same" ? `· ${mark}` : mark === "same" ? "· unchanged" : ""}
      </span>
      {mark !== "deleted" && now.data?.text != null && <Copy text={now.data.text} label="Copy this file" />}
    </header>
  );
  const failed = query.find(({ error }) => error);
  const body = (): ReactNode => {
    if (failed) return <Trouble error={failed.error} retry={() => void failed.refetch()} />;
    if (texts.includes(undefined)) return <Loading rows={8} />;
    if (texts.includes(null)) return <NoText file={file} />;
    if (rows.length === 0) return <Empty icon="file" title={isTwo ? "Only line endings differ" : "This file is empty"} />;
    return <Lines label={file.path} rows={rows} isTwo={isTwo} at={line} onLine={onLine} onWhole={() => setWhole(true)} />;
  };
  return (
    <section className={css.file}>
      {head}
      {isLong && <p className={css.cut}>The file is long. Only its first 192 KiB are shown.</p>}
      {body()}
    </section>
  );
}

function NoText({ file }: { file: CodeFile }) {
  return (
    <Empty icon="file" title="This file is not text">
      <p>
        SHA-256 <code>{file.sha256}</code>
      </p>
    </Empty>
  );
}
