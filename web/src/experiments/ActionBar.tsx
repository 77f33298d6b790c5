import type { Experiment } from "@/api/types";
import { Button, IconButton } from "@/parts/Button";
import { counted } from "@/parts/format";
import { ACTIONS, useAct } from "@/training/acting";
import css from "./Experiments.module.css";

interface ActionBarProps {
  selected: readonly Experiment[];
  onClear: () => void;
  onLabel: () => void;
  onCompare: () => void;
}

/** Actions for the selected experiments. */
export function ActionBar({ selected, onClear, onLabel, onCompare }: ActionBarProps) {
  const act = useAct(onClear);
  const fitting = ACTIONS.map((action) => ({ ...action, numbers: selected.filter(action.fits).map((one) => String(one.number)) }));
  return (
    <div className={css.act} role="toolbar" aria-label="Actions for the selected experiments">
      <strong>{counted(selected.length, "experiment")}</strong>
      {fitting
        .filter(({ numbers }) => numbers.length > 0)
        .map(({ action, label, icon, danger, numbers }) => (
          <Button
            key={action}
            small
            kind={danger ? "danger" : "quiet"}
            icon={icon}
            busy={act.isPending && act.variables.action === action}
            onClick={() => act.mutate({ action, experiments: numbers })}
          >
            {numbers.length < selected.length ? `${label} ${numbers.length}` : label}
          </Button>
        ))}
      <Button small kind="quiet" icon="tag" onClick={onLabel}>
        Labels…
      </Button>
      <Button small kind="quiet" icon="compare" onClick={onCompare}>
        Compare
      </Button>
      <IconButton icon="close" label="Clear selection" onClick={onClear} />
    </div>
  );
}
