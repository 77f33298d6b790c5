/** Short words on what was done, at the page's foot: `toast("paused experiment 31")`. */
import { useSyncExternalStore } from "react";
import { asProblem } from "@/api/problem";
import { IconButton } from "./Button";
import { Icon } from "./Icon";
import css from "./Toast.module.css";

interface Said {
  id: number;
  text: string;
  isBad: boolean;
}

const SHOWN_MS = 6000;
let said: readonly Said[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Said[]): void {
  said = next;
  for (const listener of listeners) listener();
}

function drop(id: number): void {
  set(said.filter((one) => one.id !== id));
}

/** Says it for six seconds. */
export function toast(text: string, isBad = false): void {
  last += 1;
  const id = last;
  set([...said.slice(-3), { id, text, isBad }]);
  setTimeout(() => drop(id), SHOWN_MS);
}

/** Says what went wrong, for who catches it: `onError: toastProblem`. */
export function toastProblem(error: unknown): void {
  const problem = asProblem(error);
  toast(problem.hint ? `${problem.message}: ${problem.hint}` : problem.message, true);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => (listeners.add(listener), () => listeners.delete(listener)),
    () => said,
  );
  return (
    <div className={css.toasts} role="status" aria-live="polite">
      {shown.map((one) => (
        <div key={one.id} className={`${css.toast} ${one.isBad ? css.bad : ""}`}>
          <Icon name={one.isBad ? "warning" : "check"} />
          <span>{one.text}</span>
          <IconButton icon="close" label="Dismiss" onClick={() => drop(one.id)} />
        </div>
      ))}
    </div>
  );
}
