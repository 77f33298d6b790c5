import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { ActDialog } from "@/parts/ActDialog";
import { counted } from "@/parts/format";

interface KillDialogProps {
  experiment: number;
  /** Trial names, such as `31.4`. */
  trials: readonly string[];
  onClose: () => void;
}

/** Kills trials after a confirmation. */
export function KillDialog({ experiment, trials, onClose }: KillDialogProps) {
  const named = trials.length === 1 ? `trial ${trials[0]}` : counted(trials.length, "trial");
  const act = () => Promise.all(trials.map(kill));
  return (
    <ActDialog title={`Kill ${named}?`} verb={`Kill ${named}`} kind="danger" act={act} stale={keys.experiment(experiment)} done={`Killed ${named}`} onClose={onClose}>
      <p>
        {trials.length === 1 ? `Trial ${trials[0]} ends` : `Trials ${trials.join(", ")} end`} immediately without a final checkpoint and cannot be resumed. Stored checkpoints, metrics and logs remain.
      </p>
      <p className="muted">The search of experiment {experiment} goes on and counts a killed trial as made. If every trial is killed, the experiment ends as cancelled.</p>
    </ActDialog>
  );
}

function kill(trial: string): Promise<unknown> {
  return ask(api.POST("/v1/trials/{trial}/kill", { params: { path: { trial } }, body: {} }));
}
