import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Icon, type IconName } from "./Icon";
import css from "./Menu.module.css";

export interface MenuItem {
  label: string;
  icon?: IconName;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
  /** State of an item that can be on or off. */
  isOn?: boolean;
}

interface MenuProps {
  /** Renders the button that opens the menu, with the props that it needs. */
  trigger: (props: { onClick: () => void; "aria-expanded": boolean; "aria-haspopup": "menu"; "aria-controls": string }) => ReactNode;
  items: readonly (MenuItem | "line")[];
  label: string;
  align?: "start" | "end";
  up?: boolean;
}

/** A menu with keyboard control: arrows, Home, End, Escape. */
export function Menu({ trigger, items, label, align = "end", up }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const wrap = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    list.current?.querySelector<HTMLElement>('[role^="menuitem"]:not(:disabled)')?.focus();
    const leave = (event: Event) => !wrap.current?.contains(event.target as Node) && setOpen(false);
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    wrap.current?.querySelector<HTMLElement>("[aria-haspopup]")?.focus();
  };
  return (
    <div ref={wrap} className={css.wrap} onKeyDown={(event) => isOpen && onKey(event, list.current, close)}>
      {trigger({ onClick: () => setOpen(!isOpen), "aria-expanded": isOpen, "aria-haspopup": "menu", "aria-controls": id })}
      {isOpen && (
        <div ref={list} id={id} role="menu" aria-label={label} className={`${css.menu} ${css[align]} ${up ? css.up : css.down}`}>
          {items.map((item, at) => (item === "line" ? <hr key={at} /> : <Item key={item.label} item={item} close={close} />))}
        </div>
      )}
    </div>
  );
}

function Item({ item, close }: { item: MenuItem; close: () => void }) {
  const select = () => {
    close();
    item.onSelect();
  };
  const role = item.isOn === undefined ? "menuitem" : "menuitemcheckbox";
  return (
    <button
      type="button"
      role={role}
      aria-checked={item.isOn}
      tabIndex={-1}
      disabled={item.disabled}
      className={item.danger ? css.danger : undefined}
      onClick={select}
    >
      {item.isOn !== undefined ? <span className={css.tick}>{item.isOn && <Icon name="check" size={14} />}</span> : item.icon && <Icon name={item.icon} size={15} />}
      {item.label}
    </button>
  );
}

function onKey(event: KeyboardEvent, list: HTMLElement | null, close: () => void): void {
  const items = [...(list?.querySelectorAll<HTMLElement>('[role^="menuitem"]:not(:disabled)') ?? [])];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 };
  const next = moves[event.key];
  if (next !== undefined) {
    event.preventDefault();
    items[next % items.length]?.focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.stopPropagation();
    close();
  }
}
