/** Changes an experiment's part in the queue; what is not named stays. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import type { Resource } from "@/api/types";

type Part = Pick<Resource<"EditExperimentRequest">, "priority" | "pool" | "max_slots">;

const AS_IT_IS = { priority: null, weight: null, max_slots: null, no_max_slots: false, max_trials: null, no_max_trials: false, pool: null };

export function usePart(experiment: number, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (part: Partial<Part>) =>
      ask(api.PATCH("/v1/experiments/{experiment}", { params: { path: { experiment: String(experiment) } }, body: { ...AS_IT_IS, ...part } })),
    onSuccess: () => {
      onDone();
      return client.invalidateQueries({ queryKey: ["cluster"] });
    },
  });
}
