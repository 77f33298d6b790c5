import { useId, type InputHTMLAttributes, type ReactNode, type Ref, type SelectHTMLAttributes, type TextareaHTMLAttributes } from "react";
import css from "./Field.module.css";

interface Labelled {
  label: string;
  /** What it takes. */
  hint?: ReactNode;
  /** In focus first when a dialog opens. */
  "data-first"?: boolean;
}

/** One input with its label, and what it takes. */
export function Field({ label, hint, ...rest }: Labelled & InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  return <Framed label={label} hint={hint} draw={(names) => <input {...names} className={css.input} {...rest} />} />;
}

/** Several lines of text with their label. */
export function TextField({ label, hint, ...rest }: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <Framed label={label} hint={hint} draw={(names) => <textarea {...names} className={`${css.input} ${css.text}`} {...rest} />} />;
}

/** One of several in a form, with its label. */
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

/** One of several among tools, by the platform's own list: its label is not seen. */
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
