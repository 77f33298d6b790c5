import { useMemo } from "react";
import { type IconName } from "@/parts/Icon";
import { useMay } from "@/session/session";

export interface Place {
  to: "/experiments" | "/compare" | "/cluster" | "/models" | "/admin";
  label: string;
  /** Where there is little room. */
  short?: string;
  icon: IconName;
  /** Shown to who may do one of these somewhere; to everybody where none is named. */
  needs?: readonly string[];
}

/** The rooms, in the order of the day. */
const PLACES: readonly Place[] = [
  { to: "/experiments", label: "Experiments", icon: "experiments", needs: ["experiment.read"] },
  { to: "/compare", label: "Compare", icon: "compare", needs: ["experiment.read"] },
  { to: "/cluster", label: "Cluster", icon: "cluster" },
  { to: "/models", label: "Models", icon: "models", needs: ["model.read"] },
  { to: "/admin", label: "Administration", short: "Admin", icon: "admin" },
];

/** Those that are this reader's: there is always one. */
export function usePlaces(): readonly Place[] {
  const may = useMay();
  return useMemo(() => PLACES.filter((place) => place.needs === undefined || place.needs.some(may)), [may]);
}
