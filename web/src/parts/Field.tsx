import { useId, type InputHTMLAttributes, type ReactNode, type Ref, type SelectHTMLAttributes, type TextareaHTMLAttributes } from "react";
import css from "./Field.module.css";

interface Labelled {
  label: string;
  /** Help text below the field. */
  hint?: ReactNode;
  /** Gets the focus when a dialog opens. */
  "data-first"?: boolean;
}

/** An input with a label and a hint. */
export function Field({ label, hint, ...rest }: Labelled & InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  return <Framed label={label} hint={hint} draw={(names) => <input {...names} className={css.input} {...rest} />} />;
}

/** A text area with a label and a hint. */
export function TextField({ label, hint, ...rest }: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <Framed label={label} hint={hint} draw={(names) => <textarea {...names} className={`${css.input} ${css.text}`} {...rest} />} />;
}

/** A select in a form, with a visible label. */
export function Choice({ label, hint, children, ...rest }: Labelled & SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <Framed
      label={label}
      hint={hint}
      draw={(names) => (
        <select {...names} className={css.input} {...rest}>
          {children}
        </select>
      )}
    />
  );
}

/** A select in a toolbar; its label is for screen readers only. */
export function Select({ label, children, ...rest }: SelectHTMLAttributes<HTMLSelectElement> & { label: string }) {
  return (
    <select aria-label={label} className={css.select} {...rest}>
      {children}
    </select>
  );
}

interface FramedProps extends Labelled {
  draw: (names: { id: string; "aria-describedby": string | undefined }) => ReactNode;
}

function Framed({ label, hint, draw }: FramedProps) {
  const id = useId();
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {draw({ id, "aria-describedby": hint ? `${id}-hint` : undefined })}
      {hint && (
        <p id={`${id}-hint`} className={css.hint}>
          {hint}
        </p>
      )}
    </div>
  );
}
