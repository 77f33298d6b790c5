import css from "./State.module.css";

type Tone = "active" | "good" | "warn" | "bad" | "idle";

const TONES: Record<string, Tone> = {
  active: "active",
  running: "active",
  training: "active",
  starting: "active",
  granted: "active",
  stopping: "warn",
  finishing: "active",
  pausing: "warn",
  paused: "warn",
  parked: "warn",
  draining: "warn",
  queued: "idle",
  submitted: "idle",
  waiting: "idle",
  requested: "idle",
  launching: "active",
  joining: "active",
  drained: "warn",
  terminating: "warn",
  terminated: "idle",
  removed: "idle",
  ready: "good",
  completed: "good",
  stopped: "good",
  cancelled: "idle",
  error: "bad",
  failed: "bad",
  rejected: "bad",
  lost: "bad",
  interrupted: "warn",
  saved: "good",
  corrupt: "bad",
  warning: "warn",
};
const MOVES = new Set(["active", "running", "training", "starting", "pausing", "stopping", "finishing", "launching", "joining", "terminating"]);

/** Returns the colour tone of a state. */
export function toneOf(state: string): Tone {
  return TONES[state] ?? "idle";
}

/** A state as a word and a coloured dot; the dot has a ring while the state is transitional. */
export function State({ state, quiet }: { state: string; quiet?: boolean }) {
  const kind = quiet ? css.quiet : css.badge;
  return (
    <span className={`${kind} ${css[toneOf(state)]}`}>
      <span className={MOVES.has(state) ? `${css.dot} ${css.moving}` : css.dot} />
      {state}
    </span>
  );
}
