import { type ButtonHTMLAttributes, type Ref } from "react";
import css from "./Button.module.css";
import { Icon, type IconName } from "./Icon";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "primary" | "plain" | "quiet" | "danger";
  icon?: IconName;
  small?: boolean;
  /** An action is pending: the button shows a spinner and ignores clicks. */
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ kind = "plain", icon, small, busy, children, className = "", ...rest }: ButtonProps) {
  const size = small ? css.small : "";
  return (
    <button
      type="button"
      {...rest}
      disabled={rest.disabled || busy}
      aria-busy={busy || undefined}
      className={`${css.button} ${css[kind]} ${size} ${className}`}
    >
      {busy ? <span className={css.spinner} /> : icon && <Icon name={icon} size={small ? 14 : 16} />}
      {children !== undefined && <span className={css.label}>{children}</span>}
    </button>
  );
}

/** A button with an icon only; `label` is its accessible name. */
export function IconButton({ label, icon, className = "", ...rest }: ButtonProps & { label: string; icon: IconName }) {
  return (
    <button type="button" {...rest} aria-label={label} title={rest.title ?? label} className={`${css.icon} ${className}`}>
      <Icon name={icon} />
    </button>
  );
}
