import type { ReactNode } from "react";
import css from "./Admin.module.css";

/** Actions above a list, at the right. */
export function Tools({ children }: { children: ReactNode }) {
  return (
    <div className={css.tools}>
      <span />
      {children}
    </div>
  );
}
