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

/** What all meet: the API acts on nothing that was not said. */
const ALL = "number > 0";

interface BulkDialogProps {
  filter: string;
  archived: boolean;
  onClose: () => void;
}

/** All that a filter meets: counted and shown before anything is done, and done to just these or to none. */
export function BulkDialog({ filter, archived, onClose }: BulkDialogProps) {
  const [action, setAction] = useState(archived ? "unarchive" : "pause");
  const act = useAct(onClose);
  const wanted = ACTIONS.find((one) => one.action === action);
  const seen = useQuery({
    queryKey: keys.experiments({ preview: filter, archived }),
    queryFn: ({ signal }) => ask(api.GET("/v1/bulk/experiments", { params: { query: { filter: filter || ALL, archived } }, signal })),
    staleTime: 0,
    gcTime: 0,
  });
  const { count = 0, selection, sample = [] } = seen.data ?? {};
  const doIt = () => selection && wanted && act.mutate({ action: wanted.action, selection });
  return (
    <Dialog
      title="All that the filter meets"
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Leave them
          </Button>
          <Button kind={wanted?.danger ? "danger" : "primary"} busy={act.isPending} disabled={!selection} onClick={doIt}>
            {`${wanted?.label ?? ""} ${counted(count, "experiment")}`}
          </Button>
        </>
      }
    >
      <p className="muted">{filter ? <code>{filter}</code> : "There is no filter: these are all of the list."}</p>
      {seen.error && <Complaint error={seen.error} />}
      {seen.isPending && <Loading rows={3} />}
      {seen.data && (
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
          {count > 0 && !selection && <p className={css.outcome}>At most 500 are acted on at a time: narrow the filter.</p>}
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
