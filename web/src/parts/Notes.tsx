/** What stands where something else would: nothing yet, on its way, gone wrong. */
import { type ReactNode } from "react";
import { asProblem } from "@/api/problem";
import { Button } from "./Button";
import { Icon, type IconName } from "./Icon";
import css from "./Notes.module.css";

/** Nothing is there, and what to do about it. */
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

/** Bars where the content will be; said once to who cannot see them. */
export function Loading({ rows = 6, label = "loading" }: { rows?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className={css.loading}>
      {Array.from({ length: rows }, (_, at) => (
        <span key={at} className={css.bar} style={{ width: `${92 - ((at * 37) % 41)}%` }} />
      ))}
    </div>
  );
}

/** What went wrong, where, and what to do; again, where that may help. */
export function Trouble({ error, retry, title = "This could not be shown" }: { error: unknown; retry?: () => void; title?: string }) {
  const problem = asProblem(error);
  return (
    <div className={css.note} role="alert">
      <span className={`${css.picture} ${css.bad}`}>
        <Icon name="warning" size={22} />
      </span>
      <h2>{problem.status === 404 ? "There is nothing here" : title}</h2>
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

/** A problem beside what it is of: one or two lines, in a form or over a table. */
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
