import css from "./Checkboxes.module.css";

interface CheckboxesProps {
  legend: string;
  /** The options, with id and label. */
  options: readonly { id: string; label: string }[];
  selected: { has: (id: string) => boolean };
  onToggle: (id: string) => void;
  /** Labels are code. */
  mono?: boolean;
}

/** A group of checkboxes. */
export function Checkboxes({ legend, options, selected, onToggle, mono }: CheckboxesProps) {
  return (
    <fieldset className={css.ticks}>
      <legend>{legend}</legend>
      {options.map(({ id, label }) => (
        <label key={id}>
          <input type="checkbox" checked={selected.has(id)} onChange={() => onToggle(id)} />
          {mono ? <code>{label}</code> : <span>{label}</span>}
        </label>
      ))}
    </fieldset>
  );
}
