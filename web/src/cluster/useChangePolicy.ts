/** Changes the scheduling policy of an experiment; fields that are not given stay. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import type { Resource } from "@/api/types";

type ExperimentPolicy = Pick<Resource<"EditExperimentRequest">, "priority" | "pool" | "max_slots">;

const UNCHANGED = { priority: null, weight: null, max_slots: null, no_max_slots: false, max_trials: null, no_max_trials: false, pool: null };

export function useChangePolicy(experiment: number, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (policy: Partial<ExperimentPolicy>) =>
      ask(api.PATCH("/v1/experiments/{experiment}", { params: { path: { experiment: String(experiment) } }, body: { ...UNCHANGED, ...policy } })),
    onSuccess: () => {
      onDone();
      return client.invalidateQueries({ queryKey: ["cluster"] });
    },
  });
}
