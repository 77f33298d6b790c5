import css from "./Segments.module.css";

export interface Segment {
  value: string;
  label: string;
  count?: number;
}

/** A choice between a few options, side by side. */
export function Segments({ label, value, options, onChange }: { label: string; value: string; options: readonly Segment[]; onChange: (value: string) => void }) {
  return (
    <div role="group" aria-label={label} className={css.segments}>
      {options.map((option) => (
        <button key={option.value} type="button" aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
          {option.label}
          {option.count !== undefined && <span className="number">{option.count.toLocaleString("en-US")}</span>}
        </button>
      ))}
    </div>
  );
}
