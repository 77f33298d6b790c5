/** A new experiment: its text, its code, what it would come to, and its beginning. */
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

/** What is sent with the config: packed here, or stored with an earlier experiment. */
export type Code = { packed: Packed } | { experiment: number; sha256: string };

/** The code that a fork begins with: that of the forked experiment. */
export function codeOfForked(forked: ExperimentDetail | undefined): Code | null {
  return forked?.code_sha256 ? { experiment: forked.number, sha256: forked.code_sha256 } : null;
}

export function hashOf(code: Code | null): string | null {
  return code === null ? null : "packed" in code ? code.packed.sha256 : code.sha256;
}

/** True for a problem that other code would solve. */
export function isOfCode(problem: Problem): boolean {
  return problem.code === "entrypoint_missing";
}

/** What is supposed of the trials where nobody can know it yet. */
export interface Supposed {
  steps: number | null;
  stepS: number | null;
}

const TYPING_MS = 600;
/** So many paths a plan takes (`code_files`). */
const MOST_PATHS = 1000;
/** How often the search is played for a look beside the text; `muster plan` plays it more often. */
const FUTURES = 10;
const NOT_OF_THE_CONFIG = new Set(["plan_unknown", "missing_key"]);

/** What is typed, once nobody has for a moment: each look costs the platform a second. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** Checks the config with its code and plays its search: nothing is submitted. */
export function usePlan(config: string, template: string | null, code: Code | null, supposed: Supposed) {
  const sha256 = hashOf(code);
  const files = code && "packed" in code ? code.packed.files : [];
  return useQuery({
    queryKey: ["plan", config, template, sha256, supposed],
    queryFn: ({ signal }) =>
      ask(
        api.POST("/v1/plans", {
          body: {
            ...{ config_yaml: config, template, steps: supposed.steps, step_s: supposed.stepS },
            // Of more the paths are no part of a request: the gateway checks such code when the experiment is created.
            ...{ code_sha256: sha256, code_files: files.length > MOST_PATHS ? [] : files, check_code: files.length <= MOST_PATHS },
            ...{ config: null, cluster: null, pool: null, price_per_slot_hour: null, futures: FUTURES, whole: false },
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

/** True for a config that stands, of which only nothing can be foretold. */
export function isOnlyUnknown(problem: Problem): boolean {
  return NOT_OF_THE_CONFIG.has(problem.code) && !/line \d+/.test(problem.place ?? "") && /--step/.test(problem.hint ?? "");
}

/** Where in the text a problem is; null where it does not say. */
export function markOf(problem: Problem): { line: number; column: number; message: string } | null {
  const found = /line (\d+), column (\d+)/.exec(problem.place ?? "");
  if (!found) return null;
  const message = problem.hint ? `${problem.message}: ${problem.hint}` : problem.message;
  return { line: Number(found[1]), column: Number(found[2]), message };
}

/** The experiment that is forked, with its text. */
export function useForked(fork: string | undefined) {
  return useQuery({
    queryKey: keys.experiment(fork ?? ""),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments/{experiment}", { params: { path: { experiment: fork ?? "" } }, signal })),
    enabled: fork !== undefined,
  });
}

interface Wish {
  config: string;
  template: string | null;
  code: Code | null;
  forked: ExperimentDetail | undefined;
  /** Of this wish: repeated, it makes no second experiment. */
  key: string;
}

/** Sends the code where it is not there yet, and begins the experiment. */
export function useCreate(onDone: (made: ExperimentDetail) => void) {
  return useMutation({
    mutationFn: async (wish: Wish) => {
      if (wish.code && "packed" in wish.code) await send(wish.code.packed);
      const header = { "Idempotency-Key": wish.key };
      const code = hashOf(wish.code);
      if (wish.forked && code === (wish.forked.code_sha256 ?? null)) {
        const body = { overrides: overridesOf(wish.forked, wish.config), name: null, labels: [] };
        return ask(api.POST("/v1/experiments/{experiment}/fork", { params: { path: { experiment: String(wish.forked.number) }, header }, body }));
      }
      const body = { config_yaml: wish.config, config: null, code_sha256: code, template: wish.template, name: null, labels: [] };
      return ask(api.POST("/v1/experiments", { params: { header }, body }));
    },
    onSuccess: onDone,
  });
}

/** What the edited text changes of the forked experiment. Raises Problem for a text that is no mapping. */
export function overridesOf(forked: Pick<ExperimentDetail, "config" | "config_yaml">, text: string): Record<string, Json> {
  const edited = read(text);
  const before = forked.config_yaml ? read(forked.config_yaml) : (forked.config as Json);
  const patch = patchOf(before, edited);
  return isObject(patch) ? patch : {};
}

function read(text: string): Json {
  const found = parse(text) as Json;
  if (!isObject(found)) throw new Problem({ status: 422, code: "invalid_config", detail: "a config is a mapping of keys" });
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
