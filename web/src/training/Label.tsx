import { Link } from "@tanstack/react-router";
import css from "./Label.module.css";
import { withLabel } from "./labels";

/** A label, which leads to the experiments that have it: among those of the list that it stands in, where it stands in one. */
export function Label({ name, narrows }: { name: string; narrows?: boolean }) {
  return (
    <Link
      to="/experiments"
      search={(before) => (narrows ? { ...before, filter: withLabel(before.filter, name) } : { filter: withLabel(undefined, name) })}
      className={css.label}
      title={`Only those with the label ${name}`}
      onClick={(event) => event.stopPropagation()}
      tabIndex={narrows ? -1 : undefined}
    >
      {name}
    </Link>
  );
}
