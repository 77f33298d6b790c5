/** Empty, loading and error states. */
import { type ReactNode } from "react";
import { asProblem } from "@/api/problem";
import { Button } from "./Button";
import { Icon, type IconName } from "./Icon";
import css from "./Notes.module.css";

/** An empty state: what the feature is for and how to create the first item. */
export function Empty({ icon = "experiments", title, children }: { icon?: IconName; title: string; children?: ReactNode }) {
  return (
    <div className={css.note}>
      <span className={css.picture}>
        <Icon name={icon} size={22} />
      </span>
      <h2>{title}</h2>
      {children && <div className={css.text}>{children}</div>}
    </div>
  );
}

/** Placeholder bars while content loads; `label` is for screen readers. */
export function Loading({ rows = 6, label = "loading" }: { rows?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className={css.loading}>
      {Array.from({ length: rows }, (_, at) => (
        <span key={at} className={css.bar} style={{ width: `${92 - ((at * 37) % 41)}%` }} />
      ))}
    </div>
  );
}

/** An error in place of content: what happened, a hint, and a button that retries if that may help. */
export function Trouble({ error, retry, title = "This content could not be loaded" }: { error: unknown; retry?: () => void; title?: string }) {
  const problem = asProblem(error);
  return (
    <div className={css.note} role="alert">
      <span className={`${css.picture} ${css.bad}`}>
        <Icon name="warning" size={22} />
      </span>
      <h2>{problem.status === 404 ? "Not found" : title}</h2>
      <div className={css.text}>
        <p>{problem.message}</p>
        {problem.hint && <p>{problem.hint}</p>}
        {problem.traceId && (
          <p>
            trace <code>{problem.traceId}</code>
          </p>
        )}
      </div>
      {retry && problem.status !== 404 && (
        <Button icon="refresh" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** An error of one or two lines in a form or above a table. */
export function Complaint({ error }: { error: unknown }) {
  const problem = asProblem(error);
  return (
    <div className={css.complaint} role="alert">
      <Icon name="warning" size={15} />
      <div>
        {problem.place && <code>{problem.place}: </code>}
        {problem.message}
        {problem.hint && <span className={css.hint}>: {problem.hint}</span>}
      </div>
    </div>
  );
}
