import { useQuery } from "@tanstack/react-query";
import type { Trial } from "@/api/types";
import { counted } from "@/parts/format";
import { Time } from "@/parts/Time";
import { phasesQuery } from "@/training/queries";
import css from "./Trial.module.css";

/** No event reports waiting uploads; the worker records them with the phases of its run. */
const EVERY_MS = 15_000;

/** Checkpoints that are still on their machine because the upload fails, with the reason. */
export function WaitingUploads({ trial }: { trial: Trial }) {
  const { data } = useQuery({ ...phasesQuery(trial.id), enabled: !trial.final && trial.runs > 0, refetchInterval: EVERY_MS });
  const waiting = data?.waiting_uploads;
  if (!waiting) return null;
  return (
    <div className={css.waiting} role="status">
      <b>
        {counted(waiting.checkpoints, "checkpoint")} {waiting.checkpoints === 1 ? "waits" : "wait"} for upload: {waiting.reason}
      </b>
      <span>
        The first was saved <Time at={waiting.since} />. The files are on the worker, which tries again.
      </span>
    </div>
  );
}
