import { Link } from "@tanstack/react-router";
import css from "./Label.module.css";
import { withLabel } from "./labels";

/** A label that links to the experiments with it; inside a list, it narrows that list. */
export function Label({ name, narrows }: { name: string; narrows?: boolean }) {
  return (
    <Link
      to="/experiments"
      search={(before) => (narrows ? { ...before, filter: withLabel(before.filter, name) } : { filter: withLabel(undefined, name) })}
      className={css.label}
      title={`Show experiments with label ${name}`}
      onClick={(event) => event.stopPropagation()}
      tabIndex={narrows ? -1 : undefined}
    >
      {name}
    </Link>
  );
}
