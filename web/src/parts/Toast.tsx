/** Notifications at the bottom of the page: `toast("Paused 1 experiment")`. */
import { useSyncExternalStore } from "react";
import { asProblem } from "@/api/problem";
import { IconButton } from "./Button";
import { Icon } from "./Icon";
import css from "./Toast.module.css";

interface Notification {
  id: number;
  text: string;
  isError: boolean;
}

const DURATION_MS = 6000;
let notifications: readonly Notification[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Notification[]): void {
  notifications = next;
  for (const listener of listeners) listener();
}

function drop(id: number): void {
  set(notifications.filter((one) => one.id !== id));
}

/** Shows a notification for six seconds. */
export function toast(text: string, isError = false): void {
  last += 1;
  const id = last;
  set([...notifications.slice(-3), { id, text, isError }]);
  setTimeout(() => drop(id), DURATION_MS);
}

/** Shows an error as a notification: `onError: toastProblem`. */
export function toastProblem(error: unknown): void {
  const problem = asProblem(error);
  toast(problem.hint ? `${problem.message}: ${problem.hint}` : problem.message, true);
}

export function Toasts() {
  const visible = useSyncExternalStore(
    (listener) => (listeners.add(listener), () => listeners.delete(listener)),
    () => notifications,
  );
  return (
    <div className={css.toasts} role="status" aria-live="polite">
      {visible.map((one) => (
        <div key={one.id} className={`${css.toast} ${one.isError ? css.bad : ""}`}>
          <Icon name={one.isError ? "warning" : "check"} />
          <span>{one.text}</span>
          <IconButton icon="close" label="Dismiss" onClick={() => drop(one.id)} />
        </div>
      ))}
    </div>
  );
}
