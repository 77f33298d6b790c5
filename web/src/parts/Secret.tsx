import { Copy } from "./Copy";
import css from "./Secret.module.css";

/** A secret that is shown once and not stored. */
export function Secret({ of, text }: { of: string; text: string }) {
  return (
    <>
      <p>This is the secret of {of}. Copy it now: it is not shown again.</p>
      <p className={css.secret}>
        <code>{text}</code>
        <Copy text={text} label="Copy the secret" />
      </p>
    </>
  );
}
