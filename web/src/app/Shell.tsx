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
import { usePlaces } from "./nav";
import css from "./Shell.module.css";
import { setTheme, useTheme } from "@/parts/theme";

/** What stands around every page: where one is, who one is, whether it is live. On a phone it is a bar at the foot. */
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
        Skip to the page
      </a>
      <aside className={css.side}>
        <Link to="/" className={css.brand} aria-label="Muster, to the first room">
          <Mark />
          <span>Muster</span>
        </Link>
        <button type="button" className={css.search} onClick={() => setAsked(true)}>
          <Icon name="search" size={15} />
          <span>Search</span>
          <kbd>Ctrl K</kbd>
        </button>
        <Places />
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

function Places() {
  const isPhone = useIsPhone();
  const shown = usePlaces();
  return (
    <nav className={css.places} aria-label="Rooms">
      {shown.map((place) => (
        <Link key={place.to} to={place.to} className={css.place} activeProps={{ "aria-current": "page" }}>
          <Icon name={place.icon} size={17} />
          <span>{isPhone ? (place.short ?? place.label) : place.label}</span>
        </Link>
      ))}
    </nav>
  );
}

const SAID = { connecting: "Connecting", open: "Live", lost: "Reconnecting", ended: "Ended" } as const;

function Live() {
  const connection = useConnection();
  if (connection === null) return null;
  return (
    <span className={css.live} data-connection={connection} role="status" title="Changes come as they happen; after a break, all of them">
      <span className={css.pulse} />
      {SAID[connection]}
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
