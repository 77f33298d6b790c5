import { Copy } from "./Copy";
import css from "./Secret.module.css";

/** A secret that is shown this one time, and kept nowhere. */
export function Secret({ of, text }: { of: string; text: string }) {
  return (
    <>
      <p>This is the secret of {of}. It is shown this one time.</p>
      <p className={css.secret}>
        <code>{text}</code>
        <Copy text={text} label="Copy the secret" />
      </p>
    </>
  );
}
