import { Link } from "@tanstack/react-router";
import css from "./Tabs.module.css";

export interface Tab {
  label: string;
  /** Target: `to`, `params` and `search` of `Link`. */
  to: string;
  params?: Record<string, string>;
  count?: number;
  /** Marks the tab as current, whatever the URL is. */
  isHere?: boolean;
}

/** Tabs of a page, each with its own URL. */
export function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }) {
  return (
    <nav className={css.tabs} aria-label={label}>
      {tabs.map((tab) => (
        <Link
          key={tab.to + tab.label}
          to={tab.to as never}
          params={tab.params as never}
          activeOptions={{ exact: true, includeSearch: false }}
          className={css.tab}
          aria-current={tab.isHere ? "page" : undefined}
          activeProps={{ "aria-current": "page" }}
        >
          {tab.label}
          {tab.count !== undefined && <span className={`${css.count} number`}>{tab.count.toLocaleString("en-US")}</span>}
        </Link>
      ))}
    </nav>
  );
}
