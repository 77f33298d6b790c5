import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Select } from "@/parts/Field";
import { counted } from "@/parts/format";
import { Complaint, Loading } from "@/parts/Notes";
import { State } from "@/parts/State";
import { ACTIONS, actionOf, useAct } from "@/training/acting";
import css from "./Experiments.module.css";

/** A filter that every experiment matches: the API requires one. */
const ALL = "number > 0";

interface BulkDialogProps {
  filter: string;
  archived: boolean;
  onClose: () => void;
}

/** Acts on all experiments that match a filter. It shows their number and a sample first; the action applies to exactly these. */
export function BulkDialog({ filter, archived, onClose }: BulkDialogProps) {
  const [action, setAction] = useState(archived ? "unarchive" : "pause");
  const act = useAct(onClose);
  const chosen = ACTIONS.find((one) => one.action === action);
  const preview = useQuery({
    queryKey: keys.experiments({ preview: filter, archived }),
    queryFn: ({ signal }) => ask(api.GET("/v1/bulk/experiments", { params: { query: { filter: filter || ALL, archived } }, signal })),
    staleTime: 0,
    gcTime: 0,
  });
  const { count = 0, selection, sample = [] } = preview.data ?? {};
  const run = () => selection && chosen && act.mutate({ action: chosen.action, selection });
  return (
    <Dialog
      title="Act on all matching experiments"
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button kind={chosen?.danger ? "danger" : "primary"} busy={act.isPending} disabled={!selection} onClick={run}>
            {`${chosen?.label ?? ""} ${counted(count, "experiment")}`}
          </Button>
        </>
      }
    >
      <p className="muted">{filter ? <code>{filter}</code> : "No filter: all experiments in the list match."}</p>
      {preview.error && <Complaint error={preview.error} />}
      {preview.isPending && <Loading rows={3} />}
      {preview.data && (
        <>
          <ul className={css.sample}>
            {sample.slice(0, 6).map((one) => (
              <li key={one.id}>
                <span>
                  <span className="muted number">#{one.number}</span> {one.name}
                </span>
                <State state={one.state} quiet />
              </li>
            ))}
            {count > 6 && <li className="muted">and {counted(count - Math.min(6, sample.length), "more", "more")}</li>}
          </ul>
          {count > 0 && !selection && <p className={css.outcome}>An action applies to at most 500 experiments. Narrow the filter.</p>}
          <Select label="Action" value={action} onChange={(event) => setAction(event.target.value)}>
            {ACTIONS.map((one) => (
              <option key={one.action} value={one.action}>
                {actionOf(one.action)?.label}
              </option>
            ))}
          </Select>
        </>
      )}
    </Dialog>
  );
}
