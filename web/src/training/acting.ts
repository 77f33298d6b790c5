/** What is done to experiments, one or many; what came of it is said, and events show it. */
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
  /** Where it can be done to this one. */
  fits: (one: Experiment) => boolean;
}

export const ACTIONS: readonly Action[] = [
  { action: "pause", label: "Pause", done: "paused", icon: "pause", fits: (one) => one.state === "active" },
  { action: "resume", label: "Resume", done: "resumed", icon: "play", fits: (one) => one.state === "paused" },
  { action: "cancel", label: "Cancel", done: "cancelled", icon: "stop", danger: true, fits: (one) => !one.final },
  { action: "kill", label: "Kill", done: "killed", icon: "close", danger: true, fits: (one) => !one.final },
  { action: "archive", label: "Archive", done: "archived", icon: "archive", fits: (one) => one.final && !one.archived },
  { action: "unarchive", label: "Take out of the archive", done: "taken out of the archive", icon: "archive", fits: (one) => one.archived },
];

/** Those by the names of the API; what they are called for `finish` too. */
export function actionOf(action: BulkAction): Action | undefined {
  return ACTIONS.find((one) => one.action === action);
}

interface Wish {
  action: BulkAction;
  /** Numbers that were ticked, or the signed word of a filter that was looked at. */
  experiments?: string[];
  selection?: string;
}

/** Acts on many, and says what came of it. */
export function useAct(onDone?: () => void) {
  return useMutation({
    mutationFn: ({ action, experiments = [], selection = undefined }: Wish) =>
      ask(api.POST("/v1/bulk/experiments", { body: { action, experiments, selection: selection ?? null } })),
    onSuccess: (outcome, wish) => {
      say(wish.action, outcome);
      onDone?.();
    },
    onError: toastProblem,
  });
}

function say(action: BulkAction, outcome: BulkOutcome): void {
  const refused = outcome.items.filter((item) => item.state === "refused");
  const done = outcome.items.length - refused.length;
  const word = actionOf(action)?.done ?? action;
  if (done > 0) toast(`${word} ${counted(done, "experiment")}`);
  const waiting = outcome.items.find((item) => item.state === "running" && item.message)?.message;
  if (waiting) toast(waiting, true);
  const [first] = refused;
  if (first) {
    const others = refused.length > 1 ? ` (and ${refused.length - 1} more)` : "";
    toast(`experiment ${first.number}: ${first.message ?? "refused"}${others}`, true);
  }
}
