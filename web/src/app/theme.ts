/** Light or dark: the reader's choice, or the system's. `public/theme.js` sets it before anything is drawn. */
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const KEPT = "muster.theme";
const listeners = new Set<() => void>();

function read(): Theme {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

export function setTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    // Storage may be closed to pages: it holds until the page goes.
  }
  for (const listener of listeners) listener();
}

/** The present theme; whoever draws on a canvas draws again when it changes. */
export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, read);
}

/** The colour that a token stands for now, for canvases: `token("--series-1")`. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
