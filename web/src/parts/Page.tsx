import { useEffect, type ComponentProps, type ReactNode } from "react";
import css from "./Page.module.css";

interface PageProps {
  title: ReactNode;
  /** Document title; by default the title if that is text. */
  name?: string;
  /** Content beside the title, such as a state or a count. */
  aside?: ReactNode;
  actions?: ReactNode;
  tabs?: ReactNode;
  /** The body fills the remaining height and scrolls by itself, as tables do. */
  fills?: boolean;
  children: ReactNode;
}

/** A page with a fixed head and a body that scrolls, also with the keyboard. */
export function Page({ title, name, aside, actions, tabs, fills, children }: PageProps) {
  const documentTitle = name ?? (typeof title === "string" ? title : "");
  useEffect(() => {
    document.title = documentTitle ? `${documentTitle} · Muster` : "Muster";
  }, [documentTitle]);
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

/** A block of a page with a heading. */
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

/** A framed block. */
export function Card({ className = "", ...rest }: ComponentProps<"div">) {
  return <div {...rest} className={`${css.card} ${className}`} />;
}

/** A key figure with its label. */
export function Figure({ label, children, note }: { label: string; children: ReactNode; note?: ReactNode }) {
  return (
    <div className={css.figure}>
      <dt>{label}</dt>
      <dd className="number">{children}</dd>
      {note && <dd className={css.note}>{note}</dd>}
    </div>
  );
}
