import type { UseNavigateResult } from "@tanstack/react-router";
import { useMemo } from "react";
import { type IconName } from "@/parts/Icon";
import { useSections } from "./nav";
import { setTheme, useTheme } from "@/parts/theme";

export interface Command {
  id: string;
  label: string;
  icon: IconName;
  note?: string;
  run: () => void;
}

/** Commands that are available on every page, filtered by the user's permissions. */
export function useCommands(
  navigate: UseNavigateResult<string>,
  may: (permission: string) => boolean,
  signOut: () => Promise<void>,
): Command[] {
  const theme = useTheme();
  const sections = useSections();
  return useMemo(() => {
    const other = theme === "dark" ? "light" : "dark";
    const pages = sections.map((section): Command => ({ id: section.to, label: `Go to ${section.label}`, icon: section.icon, run: () => void navigate({ to: section.to }) }));
    const create: Command[] = may("experiment.write")
      ? [{ id: "new", label: "New experiment", icon: "plus", run: () => void navigate({ to: "/experiments/new" }) }]
      : [];
    return [
      ...pages,
      ...create,
      { id: "theme", label: `Switch to ${other}`, icon: other === "dark" ? "moon" : "sun", run: () => setTheme(other) },
      { id: "docs", label: "Open the API reference", icon: "external", run: () => void window.open("/docs", "_blank", "noopener") },
      { id: "out", label: "Sign out", icon: "signOut", run: () => void signOut() },
    ];
  }, [navigate, may, sections, signOut, theme]);
}
