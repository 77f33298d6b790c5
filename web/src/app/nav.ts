import { useMemo } from "react";
import { type IconName } from "@/parts/Icon";
import { useMay } from "@/session/session";

export interface DashboardSection {
  to: "/experiments" | "/compare" | "/cluster" | "/models" | "/admin";
  label: string;
  /** Label on phones. */
  short?: string;
  icon: IconName;
  /** Shown to users with one of these permissions; to everyone if undefined. */
  needs?: readonly string[];
}

/** The sections of the dashboard, in the order of the navigation. */
const SECTIONS: readonly DashboardSection[] = [
  { to: "/experiments", label: "Experiments", icon: "experiments", needs: ["experiment.read"] },
  { to: "/compare", label: "Compare", icon: "compare", needs: ["experiment.read"] },
  { to: "/cluster", label: "Cluster", icon: "cluster" },
  { to: "/models", label: "Models", icon: "models", needs: ["model.read"] },
  { to: "/admin", label: "Administration", short: "Admin", icon: "admin" },
];

/** Returns the sections that the user may see: always at least one. */
export function useSections(): readonly DashboardSection[] {
  const may = useMay();
  return useMemo(() => SECTIONS.filter((section) => section.needs === undefined || section.needs.some(may)), [may]);
}
