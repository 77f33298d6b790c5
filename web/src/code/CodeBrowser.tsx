/** The code of an experiment: a tree of files and the open file, or its differences from another experiment. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { asProblem } from "@/api/problem";
import { Icon } from "@/parts/Icon";
import { counted, formatBytes } from "@/parts/format";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import css from "./Code.module.css";
import { FileView } from "./FileView";
import { codeQuery } from "./queries";
import { firstOf, marked, treeOf, type TreeRow } from "./tree";

/** The open file and line. */
export interface CodePlace {
  file?: string;
  line?: number;
}

interface CodeBrowserProps {
  experiment: string;
  against?: string;
  /** The entrypoint of the config; the file that it names is opened first. */
  entrypoint: string;
  position: CodePlace;
  onPosition: (position: CodePlace) => void;
}

export default function CodeBrowser({ experiment, against, entrypoint, position, onPosition }: CodeBrowserProps) {
  const own = useQuery(codeQuery(experiment));
  const other = useQuery({ ...codeQuery(against ?? ""), enabled: against !== undefined });
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const files = useMemo(() => marked(own.data?.files ?? [], against === undefined ? null : (other.data?.files ?? null)), [own.data, other.data, against]);
  const rows = useMemo(() => treeOf(files, closed), [files, closed]);
  const failed = own.error ? own : other.error ? other : null;
  if (failed) return <NoCode error={failed.error} retry={() => void failed.refetch()} />;
  if (own.data === undefined || (against !== undefined && other.data === undefined)) return <Loading rows={10} />;
  const path = position.file !== undefined ? position.file : firstOf(files, entrypoint);
  const open = path === undefined ? undefined : files.get(path);
  const toggle = (folder: string) => setClosed(closed.has(folder) ? new Set([...closed].filter((one) => one !== folder)) : new Set([...closed, folder]));
  const changes = [...files.values()].filter(({ mark }) => mark !== null && mark !== "same").length;
  return (
    <div className={css.browser}>
      <nav className={css.tree} aria-label="Files">
        <p className="muted">
          {against === undefined ? `${counted(own.data.files.length, "file")}, ${formatBytes(own.data.unpacked_bytes)}` : changes === 0 ? "No differences" : counted(changes, "file differs", "files differ")}
        </p>
        <ul>
          {rows.map((row) => (
            <Entry key={row.path} row={row} isOpen={row.path === path} isClosed={closed.has(row.path)} onOpen={() => (row.file ? onPosition({ file: row.path }) : toggle(row.path))} />
          ))}
        </ul>
      </nav>
      {open ? (
        <FileView key={path} experiment={experiment} against={against} file={open.file} mark={open.mark} line={position.line} onLine={(line) => onPosition({ file: path, line })} />
      ) : (
        <Empty icon="file" title={path === undefined ? "The code contains no files" : `File ${path} does not exist in this code`} />
      )}
    </div>
  );
}

function Entry({ row, isOpen, isClosed, onOpen }: { row: TreeRow; isOpen: boolean; isClosed: boolean; onOpen: () => void }) {
  const icon = row.file ? "file" : isClosed ? "chevronRight" : "chevronDown";
  return (
    <li>
      <button
        type="button"
        data-mark={row.mark ?? undefined}
        aria-current={isOpen || undefined}
        aria-expanded={row.file ? undefined : !isClosed}
        style={{ paddingLeft: 10 + 14 * row.depth }}
        title={row.path}
        onClick={onOpen}
      >
        <Icon name={icon} size={13} />
        <span>{row.name}</span>
        {row.mark && row.mark !== "same" && <small>{row.mark}</small>}
      </button>
    </li>
  );
}

/** An experiment without code is not an error. */
function NoCode({ error, retry }: { error: unknown; retry: () => void }) {
  const problem = asProblem(error);
  if (problem.status !== 404) return <Trouble error={error} retry={retry} />;
  return (
    <Empty icon="file" title="No code to show">
      <p>{problem.message}</p>
    </Empty>
  );
}
