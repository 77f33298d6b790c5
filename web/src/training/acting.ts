/** Actions on one or many experiments, with a notification of the outcome. */
import { useMutation } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import type { BulkAction, BulkOutcome, Experiment } from "@/api/types";
import { type IconName } from "@/parts/Icon";
import { counted } from "@/parts/format";
import { toast, toastProblem } from "@/parts/Toast";

export interface Action {
  action: BulkAction;
  label: string;
  done: string;
  icon: IconName;
  danger?: boolean;
  /** True if the action applies to the experiment. */
  fits: (one: Experiment) => boolean;
}

export const ACTIONS: readonly Action[] = [
  { action: "pause", label: "Pause", done: "Paused", icon: "pause", fits: (one) => one.state === "active" },
  { action: "resume", label: "Resume", done: "Resumed", icon: "play", fits: (one) => one.state === "paused" },
  { action: "cancel", label: "Cancel", done: "Cancelled", icon: "stop", danger: true, fits: (one) => !one.final },
  { action: "kill", label: "Kill", done: "Killed", icon: "close", danger: true, fits: (one) => !one.final },
  { action: "archive", label: "Archive", done: "Archived", icon: "archive", fits: (one) => one.final && !one.archived },
  { action: "unarchive", label: "Unarchive", done: "Unarchived", icon: "archive", fits: (one) => one.archived },
];

/** Returns an action by its API name. */
export function actionOf(action: BulkAction): Action | undefined {
  return ACTIONS.find((one) => one.action === action);
}

interface ActRequest {
  action: BulkAction;
  /** Numbers of selected experiments, or the signed selection of a previewed filter. */
  experiments?: string[];
  selection?: string;
}

/** Performs an action on experiments and reports the outcome. */
export function useAct(onDone?: () => void) {
  return useMutation({
    mutationFn: ({ action, experiments = [], selection = undefined }: ActRequest) =>
      ask(api.POST("/v1/bulk/experiments", { body: { action, experiments, selection: selection ?? null } })),
    onSuccess: (outcome, request) => {
      report(request.action, outcome);
      onDone?.();
    },
    onError: toastProblem,
  });
}

function report(action: BulkAction, outcome: BulkOutcome): void {
  const refused = outcome.items.filter((item) => item.state === "refused");
  const done = outcome.items.length - refused.length;
  const verb = actionOf(action)?.done ?? action;
  if (done > 0) toast(`${verb} ${counted(done, "experiment")}`);
  const waiting = outcome.items.find((item) => item.state === "running" && item.message)?.message;
  if (waiting) toast(waiting, true);
  const [first] = refused;
  if (first) {
    const others = refused.length > 1 ? ` (and ${refused.length - 1} more)` : "";
    toast(`Experiment ${first.number}: ${first.message ?? "refused"}${others}`, true);
  }
}
