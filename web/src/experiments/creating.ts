/** Creates experiments: config, code, plan and submission. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { parse } from "yaml";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { asProblem, Problem, problemOf } from "@/api/problem";
import type { ExperimentDetail } from "@/api/types";
import { credential } from "@/api/credential";
import { isObject, patchOf, type Json } from "./merging";
import type { Packed } from "./pack";

export const STARTER = `name: my first search
entrypoint: python3 train.py
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: -1}
  width: {type: categorical, vals: [32, 64, 128]}
  epochs: 9
searcher:
  name: adaptive_asha
  metric: loss
  smaller_is_better: true
  max_trials: 16
  max_concurrent_trials: 2
  time_metric: epochs
  max_time: 9
resources:
  slots_per_trial: 1
`;

/** Code sent with the config: packed in the browser, or stored with another experiment. */
export type Code = { packed: Packed } | { experiment: number; sha256: string };

/** Returns the code of the forked experiment. */
export function codeOfForked(forked: ExperimentDetail | undefined): Code | null {
  return forked?.code_sha256 ? { experiment: forked.number, sha256: forked.code_sha256 } : null;
}

export function hashOf(code: Code | null): string | null {
  return code === null ? null : "packed" in code ? code.packed.sha256 : code.sha256;
}

/** True if the problem is in the code, not in the config. */
export function isOfCode(problem: Problem): boolean {
  return problem.code === "entrypoint_missing";
}

/** Assumptions about trials for the plan. */
export interface Assumptions {
  steps: number | null;
  stepS: number | null;
}

const TYPING_MS = 600;
/** The maximum number of paths in a plan request (`code_files`). */
const MOST_PATHS = 1000;
/** Simulations per plan while the config is edited; `muster plan` runs more. */
const SIMULATIONS = 10;
const NOT_CONFIG_ERRORS = new Set(["plan_unknown", "missing_key"]);

/** Returns the value once it has not changed for a moment, because each plan costs the platform about a second. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** Validates the config with its code and simulates the search, without submitting it. */
export function usePlan(config: string, template: string | null, code: Code | null, assumed: Assumptions) {
  const sha256 = hashOf(code);
  const files = code && "packed" in code ? code.packed.files : [];
  return useQuery({
    queryKey: ["plan", config, template, sha256, assumed],
    queryFn: ({ signal }) =>
      ask(
        api.POST("/v1/plans", {
          body: {
            ...{ config_yaml: config, template, steps: assumed.steps, step_s: assumed.stepS },
            // A request cannot hold more paths: the gateway then checks the code when the experiment is created.
            ...{ code_sha256: sha256, code_files: files.length > MOST_PATHS ? [] : files, check_code: files.length <= MOST_PATHS },
            ...{ config: null, cluster: null, pool: null, price_per_slot_hour: null, futures: SIMULATIONS, whole: false },
          },
          signal,
        }),
      ),
    enabled: config.trim() !== "",
    placeholderData: (before) => before,
    staleTime: 60_000,
    gcTime: 60_000,
    retry: (count, error) => asProblem(error).isPassing && count < 2,
  });
}

/** True for a valid config that cannot be planned for lack of data. */
export function isOnlyUnknown(problem: Problem): boolean {
  return NOT_CONFIG_ERRORS.has(problem.code) && !/line \d+/.test(problem.place ?? "") && /--step/.test(problem.hint ?? "");
}

/** Returns the position of a problem in the config; null if it has none. */
export function markOf(problem: Problem): { line: number; column: number; message: string } | null {
  const found = /line (\d+), column (\d+)/.exec(problem.place ?? "");
  if (!found) return null;
  const message = problem.hint ? `${problem.message}: ${problem.hint}` : problem.message;
  return { line: Number(found[1]), column: Number(found[2]), message };
}

/** Returns the forked experiment with its config. */
export function useForked(fork: string | undefined) {
  return useQuery({
    queryKey: keys.experiment(fork ?? ""),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments/{experiment}", { params: { path: { experiment: fork ?? "" } }, signal })),
    enabled: fork !== undefined,
  });
}

interface CreateRequest {
  config: string;
  template: string | null;
  code: Code | null;
  forked: ExperimentDetail | undefined;
  /** Idempotency key: a repeated request creates no second experiment. */
  key: string;
}

/** Uploads the code if it is not stored yet, and creates the experiment. */
export function useCreate(onDone: (made: ExperimentDetail) => void) {
  return useMutation({
    mutationFn: async (request: CreateRequest) => {
      if (request.code && "packed" in request.code) await send(request.code.packed);
      const header = { "Idempotency-Key": request.key };
      const code = hashOf(request.code);
      if (request.forked && code === (request.forked.code_sha256 ?? null)) {
        const body = { overrides: overridesOf(request.forked, request.config), name: null, labels: [] };
        return ask(api.POST("/v1/experiments/{experiment}/fork", { params: { path: { experiment: String(request.forked.number) }, header }, body }));
      }
      const body = { config_yaml: request.config, config: null, code_sha256: code, template: request.template, name: null, labels: [] };
      return ask(api.POST("/v1/experiments", { params: { header }, body }));
    },
    onSuccess: onDone,
  });
}

/** Returns the overrides of the edited config over the forked one. Raises Problem if the text is not a mapping. */
export function overridesOf(forked: Pick<ExperimentDetail, "config" | "config_yaml">, text: string): Record<string, Json> {
  const edited = read(text);
  const before = forked.config_yaml ? read(forked.config_yaml) : (forked.config as Json);
  const patch = patchOf(before, edited);
  return isObject(patch) ? patch : {};
}

function read(text: string): Json {
  const found = parse(text) as Json;
  if (!isObject(found)) throw new Problem({ status: 422, code: "invalid_config", detail: "A config must be a YAML mapping of keys to values" });
  return found;
}

async function send(code: Packed): Promise<void> {
  const path = `/v1/code/${code.sha256}`;
  const known = await api.GET("/v1/code/{sha256}", { params: { path: { sha256: code.sha256 } } });
  if (known.response.ok) return;
  const headers = { ...credential.headers(), "Content-Type": "application/gzip" };
  const put = await fetch(path, { method: "PUT", headers, body: code.content });
  if (!put.ok) throw problemOf(put.status, await put.json().catch(() => null));
}
