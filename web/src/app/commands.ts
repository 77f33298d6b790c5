import type { UseNavigateResult } from "@tanstack/react-router";
import { useMemo } from "react";
import { type IconName } from "@/parts/Icon";
import { usePlaces } from "./nav";
import { setTheme, useTheme } from "@/parts/theme";

export interface Command {
  id: string;
  label: string;
  icon: IconName;
  note?: string;
  run: () => void;
}

/** What can be done from anywhere, by who may. */
export function useCommands(
  navigate: UseNavigateResult<string>,
  may: (permission: string) => boolean,
  signOut: () => Promise<void>,
): Command[] {
  const theme = useTheme();
  const rooms = usePlaces();
  return useMemo(() => {
    const other = theme === "dark" ? "light" : "dark";
    const places = rooms.map((place): Command => ({ id: place.to, label: `Go to ${place.label}`, icon: place.icon, run: () => void navigate({ to: place.to }) }));
    const create: Command[] = may("experiment.write")
      ? [{ id: "new", label: "New experiment", icon: "plus", run: () => void navigate({ to: "/experiments/new" }) }]
      : [];
    return [
      ...places,
      ...create,
      { id: "theme", label: `Switch to ${other}`, icon: other === "dark" ? "moon" : "sun", run: () => setTheme(other) },
      { id: "docs", label: "Open the API reference", icon: "external", run: () => void window.open("/docs", "_blank", "noopener") },
      { id: "out", label: "Sign out", icon: "signOut", run: () => void signOut() },
    ];
  }, [navigate, may, rooms, signOut, theme]);
}
