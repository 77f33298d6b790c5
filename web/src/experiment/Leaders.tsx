import { Link } from "@tanstack/react-router";
import type { ExperimentDetail } from "@/api/types";
import { Num } from "@/parts/Number";
import { Section } from "@/parts/Page";
import { PlainTable } from "@/parts/PlainTable";
import { State } from "@/parts/State";
import { bestOrOdd, type Metric, type TrialRow } from "@/training/rows";
import { sayValue } from "@/training/values";
import css from "./Experiment.module.css";
import { varying } from "./varying";

interface LeadersProps {
  experiment: ExperimentDetail;
  rows: readonly TrialRow[];
  own: Metric;
  hovered: string | null;
  onHover: (trial: string | null) => void;
}

const MAX_ROWS = 10;

/** The ten best trials. Hovering over a row highlights its curve. */
export function Leaders({ experiment, rows, own, hovered, onHover }: LeadersProps) {
  const names = varying(experiment.config).slice(0, 6);
  if (rows.length === 0) return null;
  return (
    <Section
      title="Best trials"
      actions={
        <Link className={css.link} to="/experiments/$experiment/$tab" params={{ experiment: String(experiment.number), tab: "trials" }}>
          All trials
        </Link>
      }
    >
      <PlainTable>
        <thead>
          <tr>
            <th scope="col">Trial</th>
            <th scope="col">State</th>
            <th scope="col" data-end>
              {experiment.metric}
            </th>
            {names.map((name) => (
              <th key={name} scope="col" data-end>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row) => (
            <tr key={row.trial} data-at={hovered === row.trial || undefined} onPointerEnter={() => onHover(row.trial)} onPointerLeave={() => onHover(null)}>
              <td>
                <Link className={css.link} to="/trials/$trial" params={{ trial: `${row.experiment_number}.${row.number}` }} onFocus={() => onHover(row.trial)} onBlur={() => onHover(null)}>
                  <span className={css.swatch} style={{ background: `var(--series-${((row.number - 1) % 8) + 1})` }} />
                  {row.experiment_number}.{row.number}
                </Link>
              </td>
              <td>
                <State state={row.state ?? "queued"} quiet />
              </td>
              <td data-end><Num value={bestOrOdd(row, own)} /></td>
              {names.map((name) => (
                <td key={name} data-end className="mono">
                  {sayValue(row.values[`hparams.${name}`])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </PlainTable>
    </Section>
  );
}
