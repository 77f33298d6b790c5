import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Experiment } from "@/api/types";
import { Button, IconButton } from "@/parts/Button";
import { Menu } from "@/parts/Menu";
import { useMay } from "@/session/session";
import { ACTIONS, useAct } from "@/training/acting";
import { LabelsDialog } from "@/training/LabelsDialog";

/** The actions that the experiment's state permits: the first as a button, the others in a menu. */
export function ExperimentActions({ experiment }: { experiment: Experiment }) {
  const may = useMay();
  const act = useAct();
  const navigate = useNavigate();
  const [isLabelling, setLabelling] = useState(false);
  if (!may("experiment.write")) return null;
  const [first, ...rest] = ACTIONS.filter((one) => one.fits(experiment));
  const run = (action: (typeof ACTIONS)[number]) => act.mutate({ action: action.action, experiments: [String(experiment.number)] });
  const fork = () => void navigate({ to: "/experiments/new", search: { fork: String(experiment.number) } });
  return (
    <>
      <Button icon="fork" onClick={fork}>
        Fork
      </Button>
      {first && (
        <Button icon={first.icon} busy={act.isPending} onClick={() => run(first)}>
          {first.label}
        </Button>
      )}
      <Menu
        label="More actions"
        trigger={(props) => <IconButton icon="more" label="More actions" {...props} />}
        items={[
          { label: "Labels…", icon: "tag", onSelect: () => setLabelling(true) },
          ...rest.map((one) => ({ label: one.label, icon: one.icon, danger: one.danger, onSelect: () => run(one) })),
        ]}
      />
      {isLabelling && <LabelsDialog experiments={[experiment]} onClose={() => setLabelling(false)} />}
    </>
  );
}
