/** Light or dark: the reader's choice, or the system's. `public/theme.js` sets it before anything is drawn. */
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
    // Storage may be closed to pages: it holds until the page goes.
  }
}

/** The present theme; whoever draws on a canvas draws again when it changes. */
export function useTheme(): Theme {
  return useSyncExternalStore(watch, read);
}

/** Whoever changes it: what stands at the root of the page is the truth. */
function watch(listener: () => void): () => void {
  const watching = new MutationObserver(listener);
  watching.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => watching.disconnect();
}

/** The colour that a token stands for now, for canvases: `token("--series-1")`. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The same as `rgb(…)`, for what reads no oklch. */
export function rgbToken(name: string): string {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d");
  if (context === null) return "rgb(128,128,128)";
  context.fillStyle = token(name);
  context.fillRect(0, 0, 1, 1);
  return `rgb(${[...context.getImageData(0, 0, 1, 1).data].slice(0, 3).join(",")})`;
}
