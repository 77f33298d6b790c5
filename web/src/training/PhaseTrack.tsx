import type { Resource } from "@/api/types";
import { formatDuration } from "@/parts/format";
import css from "./PhaseTrack.module.css";
import { isAgain, sums, wordOf, type Phase, type PhaseKind } from "./phases";

interface PhaseTrackProps {
  phases: readonly Phase[];
  checkpoints: readonly Resource<"Checkpoint">[];
  /** What the track's ends stand for. */
  from: number;
  to: number;
}

/** Phases along time, with the checkpoints that fell into them; a ring where a run was begun again. */
export function PhaseTrack({ phases, checkpoints, from, to }: PhaseTrackProps) {
  const whole = Math.max(1, to - from);
  const part = (at: number) => `${(100 * (at - from)) / whole}%`;
  const isIn = ({ created_at }: Resource<"Checkpoint">) => phases.some((phase) => phase.from <= Date.parse(created_at) && Date.parse(created_at) <= phase.to);
  return (
    <span className={css.track}>
      {phases.map((phase, at) => (
        <span
          key={at}
          className={`${css.bar} ${css[phase.kind]}`}
          title={`${phase.run === null ? "" : `run ${phase.run} `}${wordOf(phase.kind)} ${formatDuration((phase.to - phase.from) / 1000)}`}
          style={{ left: part(phase.from), width: `max(2px, ${(100 * (phase.to - phase.from)) / whole}%)` }}
        />
      ))}
      {phases.filter(isAgain).map((phase) => (
        <span key={`again ${phase.run}`} className={css.again} title={`begun again, as run ${phase.run}`} style={{ left: part(phase.from) }} />
      ))}
      {checkpoints.filter(isIn).map((one) => (
        <span key={one.id} className={css.saved} title={`checkpoint at step ${one.step}`} style={{ left: part(Date.parse(one.created_at)) }} />
      ))}
    </span>
  );
}

const USUAL: ReadonlyMap<PhaseKind, number> = new Map([["queued", 0], ["preparing", 0], ["starting", 0], ["training", 0]]);

/** What the colours mean, with how long each kind lasted where that is known. */
export function PhaseKey({ phases = [] }: { phases?: readonly Phase[] }) {
  return (
    <p className={css.keyed}>
      {[...(phases.length > 0 ? sums(phases) : USUAL)].map(([kind, seconds]) => (
        <span key={kind}>
          <i className={css[kind]} /> {wordOf(kind)} {phases.length > 0 && <b className="number">{formatDuration(seconds)}</b>}
        </span>
      ))}
      <span>
        <i className={css.saved} /> checkpoint
      </span>
      <span>
        <i className={css.again} /> begun again
      </span>
    </p>
  );
}
