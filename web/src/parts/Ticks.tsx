import css from "./Ticks.module.css";

interface TicksProps {
  legend: string;
  /** What can be ticked: by what it is known, and what is shown of it. */
  options: readonly { id: string; label: string }[];
  held: { has: (id: string) => boolean };
  onTurn: (id: string) => void;
  /** They are words of a program. */
  mono?: boolean;
}

/** Any of several, each ticked or not. */
export function Ticks({ legend, options, held, onTurn, mono }: TicksProps) {
  return (
    <fieldset className={css.ticks}>
      <legend>{legend}</legend>
      {options.map(({ id, label }) => (
        <label key={id}>
          <input type="checkbox" checked={held.has(id)} onChange={() => onTurn(id)} />
          {mono ? <code>{label}</code> : <span>{label}</span>}
        </label>
      ))}
    </fieldset>
  );
}
