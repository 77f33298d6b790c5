import { useEffect, type ComponentProps, type ReactNode } from "react";
import css from "./Page.module.css";

interface PageProps {
  title: ReactNode;
  /** What the browser's tab says; the title where that is text. */
  name?: string;
  /** Beside the title: a state, a count. */
  aside?: ReactNode;
  actions?: ReactNode;
  tabs?: ReactNode;
  /** The body fills what is left and scrolls by itself, as tables do. */
  fills?: boolean;
  children: ReactNode;
}

/** A page: its head stays, its body scrolls, by keys too where nothing in it takes them. */
export function Page({ title, name, aside, actions, tabs, fills, children }: PageProps) {
  const said = name ?? (typeof title === "string" ? title : "");
  useEffect(() => {
    document.title = said ? `${said} · Muster` : "Muster";
  }, [said]);
  return (
    <div className={css.page}>
      <header className={css.head}>
        <div className={css.row}>
          <div className={css.title}>
            <h1>{title}</h1>
            {aside}
          </div>
          {actions && <div className={css.actions}>{actions}</div>}
        </div>
        {tabs}
      </header>
      {fills ? <div className={css.filled}>{children}</div> : <div className={css.body} tabIndex={0}>{children}</div>}
    </div>
  );
}

/** A block of a page with a heading of its own. */
export function Section({ title, actions, children }: { title?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={css.section}>
      {(title || actions) && (
        <div className={css.sectionHead}>
          <h2>{title}</h2>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

/** A framed ground for one thing. */
export function Card({ className = "", ...rest }: ComponentProps<"div">) {
  return <div {...rest} className={`${css.card} ${className}`} />;
}

/** One figure with what it is, large. */
export function Figure({ label, children, note }: { label: string; children: ReactNode; note?: ReactNode }) {
  return (
    <div className={css.figure}>
      <dt>{label}</dt>
      <dd className="number">{children}</dd>
      {note && <dd className={css.note}>{note}</dd>}
    </div>
  );
}
