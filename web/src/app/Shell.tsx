import { Link, Outlet } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useConnection } from "@/live/LiveProvider";
import { IconButton } from "@/parts/Button";
import { Icon } from "@/parts/Icon";
import { Menu } from "@/parts/Menu";
import { useIsPhone } from "@/parts/useIsPhone";
import { useMe, useSignOut } from "@/session/session";
import { CommandPalette } from "./CommandPalette";
import { Health } from "./Health";
import { Mark } from "@/parts/Mark";
import { useSections } from "./nav";
import css from "./Shell.module.css";
import { setTheme, useTheme } from "@/parts/theme";

/** The frame of every page: navigation, account and connection state. On a phone it is a bar at the bottom. */
export function Shell() {
  const [isAsked, setAsked] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        setAsked(true);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div className={css.shell}>
      <a href="#main" className={css.skip}>
        Skip to content
      </a>
      <aside className={css.side}>
        <Link to="/" className={css.brand} aria-label="Muster, start page">
          <Mark />
          <span>Muster</span>
        </Link>
        <button type="button" className={css.search} onClick={() => setAsked(true)}>
          <Icon name="search" size={15} />
          <span>Search</span>
          <kbd>Ctrl K</kbd>
        </button>
        <Navigation />
        <div className={css.foot}>
          <Live />
          <Account />
        </div>
      </aside>
      <div className={css.content}>
        <Health />
        <main id="main" className={css.main} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      {isAsked && <CommandPalette onClose={() => setAsked(false)} />}
    </div>
  );
}

function Navigation() {
  const isPhone = useIsPhone();
  const sections = useSections();
  return (
    <nav className={css.sections} aria-label="Main">
      {sections.map((section) => (
        <Link key={section.to} to={section.to} className={css.section} activeProps={{ "aria-current": "page" }}>
          <Icon name={section.icon} size={17} />
          <span>{isPhone ? (section.short ?? section.label) : section.label}</span>
        </Link>
      ))}
    </nav>
  );
}

const CONNECTION_LABELS = { connecting: "Connecting", open: "Live", lost: "Reconnecting", ended: "Ended" } as const;

function Live() {
  const connection = useConnection();
  if (connection === null) return null;
  return (
    <span className={css.live} data-connection={connection} role="status" title="This page updates live. After a lost connection, it catches up.">
      <span className={css.pulse} />
      {CONNECTION_LABELS[connection]}
    </span>
  );
}

function Account() {
  const me = useMe();
  const theme = useTheme();
  const signOut = useSignOut();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <div className={css.account}>
      <Menu
        up
        align="start"
        label="Account"
        trigger={(props) => (
          <button type="button" className={css.me} {...props}>
            <span className={css.face}>{me.name.slice(0, 1).toUpperCase()}</span>
            <span className={css.who}>
              <b>{me.name}</b>
              <small>{me.tenant_name}</small>
            </span>
          </button>
        )}
        items={[
          { label: "API reference", icon: "external", onSelect: () => window.open("/docs", "_blank", "noopener") },
          "line",
          { label: "Sign out", icon: "signOut", onSelect: () => void signOut() },
        ]}
      />
      <IconButton icon={theme === "dark" ? "sun" : "moon"} label={`Switch to ${other}`} onClick={() => setTheme(other)} />
    </div>
  );
}
