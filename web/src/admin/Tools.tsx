import type { ReactNode } from "react";
import css from "./Admin.module.css";

/** What can be begun here, at the right over a list. */
export function Tools({ children }: { children: ReactNode }) {
  return (
    <div className={css.tools}>
      <span />
      {children}
    </div>
  );
}
