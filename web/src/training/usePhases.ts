import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Trial } from "@/api/types";
import { firstReports, phasesOf } from "./phases";
import { runsQuery, seriesQuery } from "./queries";

/** Enough to see where runs began, and few enough for every metric in one answer. */
const FEW_POINTS = 60;

/** When a trial waited, started and trained so far, with its runs; none until these are known. */
export function usePhases(trial: Trial, now: number) {
  const { data, error } = useQuery(runsQuery(trial.id));
  const points = useQuery(seriesQuery(trial.id, undefined, [], null, FEW_POINTS));
  const runs = data?.items;
  const phases = useMemo(
    () => (runs ? phasesOf({ createdAt: trial.created_at, endedAt: trial.ended_at, runs, firstReports: firstReports(points.data), now }) : []),
    [trial, runs, points.data, now],
  );
  return { phases, runs, error };
}
