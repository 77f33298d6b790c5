import type { Resource } from "@/api/types";
import { formatDuration } from "@/parts/format";
import css from "./PhaseTrack.module.css";
import { isAgain, describePhase, sums, wordOf, type Phase, type PhaseKind } from "./phases";

interface PhaseTrackProps {
  phases: readonly Phase[];
  checkpoints: readonly Resource<"Checkpoint">[];
  /** Uploads, shown below, because they do not delay other phases. */
  uploads?: readonly Phase[];
  /** Time range of the track. */
  from: number;
  to: number;
}

/** Phases on a time axis with checkpoints, and a ring where a run restarted. */
export function PhaseTrack({ phases, checkpoints, uploads = [], from, to }: PhaseTrackProps) {
  const whole = Math.max(1, to - from);
  const part = (at: number) => `${(100 * (at - from)) / whole}%`;
  const spanOf = (phase: Phase) => ({ left: part(phase.from), width: `max(2px, ${(100 * (phase.to - phase.from)) / whole}%)` });
  const isIn = ({ created_at }: Resource<"Checkpoint">) => phases.some((phase) => phase.from <= Date.parse(created_at) && Date.parse(created_at) <= phase.to);
  return (
    <span className={css.track}>
      {phases.map((phase, at) => (
        <span
          key={at}
          className={`${css.bar} ${css[phase.kind]}`}
          data-waits={phase.reason !== null || undefined}
          title={describePhase(phase)}
          style={spanOf(phase)}
        />
      ))}
      {uploads.map((phase) => (
        <span
          key={`upload ${phase.run} ${phase.step} ${phase.from}`}
          className={css.upload}
          data-waits={phase.reason !== null || undefined}
          title={describePhase(phase)}
          style={spanOf(phase)}
        />
      ))}
      {phases.filter(isAgain).map((phase) => (
        <span key={`again ${phase.run}`} className={css.again} title={`restarted as run ${phase.run}`} style={{ left: part(phase.from) }} />
      ))}
      {checkpoints.filter(isIn).map((one) => (
        <span key={one.id} className={css.saved} title={`checkpoint at step ${one.step}`} style={{ left: part(Date.parse(one.created_at)) }} />
      ))}
    </span>
  );
}

const USUAL: ReadonlyMap<PhaseKind, number> = new Map([["queued", 0], ["preparing", 0], ["starting", 0], ["training", 0]]);

interface PhaseKeyProps {
  phases?: readonly Phase[];
  /** Includes uploads. */
  uploads?: boolean;
}

/** Legend of the phases, with total durations if known. */
export function PhaseKey({ phases = [], uploads = false }: PhaseKeyProps) {
  return (
    <p className={css.keyed}>
      {[...(phases.length > 0 ? sums(phases) : USUAL)].map(([kind, seconds]) => (
        <span key={kind}>
          <i className={css[kind]} /> {wordOf(kind)} {phases.length > 0 && <b className="number">{formatDuration(seconds)}</b>}
        </span>
      ))}
      {uploads && (
        <span>
          <i className={css.upload} /> checkpoint upload
        </span>
      )}
      <span>
        <i className={css.saved} /> checkpoint
      </span>
      <span>
        <i className={css.again} /> restarted
      </span>
    </p>
  );
}
