import { useQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { PlainTable } from "@/parts/PlainTable";
import { counted, formatBytes, formatNumber } from "@/parts/format";
import { Complaint, Empty, Loading, Trouble } from "@/parts/Notes";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import { checkpointsQuery } from "@/training/queries";
import { RegisterDialog } from "./RegisterDialog";
import css from "./Trial.module.css";
import type { TrialTabProps } from "./tab";
import { WaitingUploads } from "./WaitingUploads";

/** Checkpoints of the trial, with the files of the open one. */
export function CheckpointsTab({ trial, search, onSearch }: TrialTabProps) {
  const { data, error, refetch } = useQuery(checkpointsQuery(trial.id));
  const mayRegister = useMay()("model.write");
  const [registered, setRegistered] = useState<{ id: string; step: number } | null>(null);
  if (error && !data) return <Trouble error={error} retry={() => void refetch()} />;
  if (!data) return <Loading rows={6} />;
  if (data.items.length === 0) {
    return (
      <>
        <WaitingUploads trial={trial} />
        <Empty icon="file" title="No checkpoints yet">
          <p>Call <code>trial.checkpoint</code> in your script to save one. An interrupted trial resumes from its latest checkpoint.</p>
        </Empty>
      </>
    );
  }
  return (
    <>
      <WaitingUploads trial={trial} />
      <PlainTable>
        <thead>
          <tr>
            {["Step", "State", "Metrics", "Size", "Run", "Saved"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            <th>
              <span className="unseen">Files</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {[...data.items].reverse().map((one) => {
            const isOpen = search.checkpoint === one.id;
            return (
              <Fragment key={one.id}>
                <tr>
                  <td className="number">{formatNumber(one.step)}</td>
                  <td>
                    <State state={one.state} quiet /> <span className="muted">{one.reason}</span>
                  </td>
                  <td className="mono">{Object.entries(one.metrics).map(([name, value]) => `${name} ${formatNumber(value)}`).join("  ") || "–"}</td>
                  <td className="number">{formatBytes(one.size_bytes)}</td>
                  <td className="number">{one.run}</td>
                  <td>
                    <Time at={one.created_at} />
                  </td>
                  <td data-end>
                    {mayRegister && one.state === "saved" && (
                      <Button small kind="quiet" icon="models" onClick={() => setRegistered(one)}>
                        Register…
                      </Button>
                    )}
                    <Button small kind="quiet" icon={isOpen ? "chevronDown" : "chevronRight"} aria-expanded={isOpen} onClick={() => onSearch({ ...search, checkpoint: isOpen ? undefined : one.id })}>
                      {counted(one.files, "file")}
                    </Button>
                  </td>
                </tr>
                {isOpen && (
                  <tr>
                    <td colSpan={7}>
                      <Files checkpoint={one.id} isSaved={one.state === "saved"} />
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </PlainTable>
      {registered && <RegisterDialog trial={trial} checkpoint={registered} onClose={() => setRegistered(null)} />}
      {data.next_cursor && <p className={css.more}>Only the first 200 are shown. Run <code>muster checkpoint list</code> for all.</p>}
    </>
  );
}

/** Files of a checkpoint with short-lived download links. */
function Files({ checkpoint, isSaved }: { checkpoint: string; isSaved: boolean }) {
  const { data, error } = useQuery({
    queryKey: keys.immutable("files", { checkpoint }),
    queryFn: ({ signal }) => ask(api.GET("/v1/checkpoints/{checkpoint}/files", { params: { path: { checkpoint } }, signal })),
    enabled: isSaved,
    gcTime: 0,
  });
  if (!isSaved) return <p className="muted">The files of this checkpoint are not stored.</p>;
  if (error) return <Complaint error={error} />;
  if (!data) return <Loading rows={2} />;
  return (
    <ul className={css.files}>
      {data.files.map((file) => (
        <li key={file.path}>
          <a href={file.url} target="_blank" rel="noopener noreferrer" className="mono">
            {file.path}
          </a>
          <span className="muted number">{formatBytes(file.size_bytes)}</span>
          <span className="muted mono" title={`SHA-256 ${file.sha256}`}>
            {file.sha256.slice(0, 12)}
          </span>
          <Copy text={file.sha256} label="Copy the SHA-256" />
        </li>
      ))}
    </ul>
  );
}
