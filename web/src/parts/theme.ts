/** Light or dark theme: the user's choice or the system's. `public/theme.js` sets it before the first paint. */
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const KEPT = "muster.theme";

function read(): Theme {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

export function setTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    // Storage may be blocked: the choice then lasts until the page is closed.
  }
}

/** Returns the current theme; components that draw on a canvas redraw when it changes. */
export function useTheme(): Theme {
  return useSyncExternalStore(watch, read);
}

/** The attribute of the root element is authoritative, whatever changes it. */
function watch(listener: () => void): () => void {
  const watching = new MutationObserver(listener);
  watching.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => watching.disconnect();
}

/** Returns the current colour of a token, for canvases: `token("--series-1")`. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Returns the colour as `rgb(…)`, for libraries that do not parse oklch. */
export function rgbToken(name: string): string {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d");
  if (context === null) return "rgb(128,128,128)";
  context.fillStyle = token(name);
  context.fillRect(0, 0, 1, 1);
  return `rgb(${[...context.getImageData(0, 0, 1, 1).data].slice(0, 3).join(",")})`;
}
