import { Link } from "@tanstack/react-router";
import css from "./Tabs.module.css";

export interface Tab {
  label: string;
  /** Where it is: `to`, `params` and `search` as `Link` takes them. */
  to: string;
  params?: Record<string, string>;
  count?: number;
  /** It is shown, at whatever address. */
  isHere?: boolean;
}

/** The parts of one page, each with an address of its own. */
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
