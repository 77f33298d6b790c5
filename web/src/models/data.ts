/** Queries of the model pages. Events of models and versions make all of them stale. */
import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { every } from "@/api/every";
import { keys } from "@/api/keys";
import { see } from "@/api/seen";
import type { Resource } from "@/api/types";

export type Model = Resource<"Model">;
export type ModelVersion = Resource<"ModelVersion">;
export type Stage = Resource<"ModelStage">;
export type LineageGraph = Resource<"LineageGraph">;

/** Stage transitions that the registry permits (`services/registry/models/core/stage.py`; a test compares them). */
export const STAGES_AFTER: Record<Stage, readonly Stage[]> = {
  none: ["candidate", "staging", "archived"],
  candidate: ["none", "staging", "archived"],
  staging: ["candidate", "production", "archived"],
  production: ["staging", "archived"],
  archived: ["none"],
};

/** Returns the metrics at a version's step by name, those that are not finite as text. */
export function metricsOf({ lineage }: Pick<ModelVersion, "lineage">): Record<string, number | string> {
  return { ...lineage.metrics, ...lineage.not_finite };
}

/** Key prefix of all model queries. */
export const MODELS = ["models"] as const;

export const modelsQuery = queryOptions({
  queryKey: keys.models("list"),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/models", { params: { query: { limit: 200, cursor } }, signal }))),
});

export const modelQuery = (model: string) =>
  queryOptions({
    queryKey: keys.models("model", { model }),
    queryFn: ({ signal }) => ask(api.GET("/v1/models/{model}", { params: { path: { model } }, signal })),
  });

export const versionsQuery = (model: string) =>
  queryOptions({
    queryKey: keys.models("versions", { model }),
    queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/models/{model}/versions", { params: { path: { model }, query: { limit: 100, cursor } }, signal }))),
  });

export const versionQuery = (model: string, version: string) =>
  queryOptions({
    queryKey: keys.models("version", { model, version }),
    queryFn: ({ signal }) => ask(api.GET("/v1/models/{model}/versions/{version}", { params: { path: { model, version } }, signal })),
  });

export const lineageQuery = (version: ModelVersion) =>
  queryOptions({
    queryKey: keys.models("lineage", { version: version.id }),
    queryFn: ({ signal }) => ask(api.GET("/v1/lineage", { params: { query: { kind: "version", id: version.id } }, signal })),
  });

export const compareQuery = (model: string, base: number, other: number) =>
  queryOptions({
    queryKey: keys.models("compare", { model, base, other }),
    queryFn: ({ signal }) => ask(api.GET("/v1/models/{model}/compare", { params: { path: { model }, query: { base: String(base), other: String(other) } }, signal })),
    enabled: base !== other,
  });

/** A model with its ETag, fetched again for each change. */
export const seenModelQuery = (model: string) =>
  queryOptions({
    queryKey: keys.models("seen", { model }),
    queryFn: ({ signal }) => see(api.GET("/v1/models/{model}", { params: { path: { model } }, signal })),
    gcTime: 0,
  });

/** A version with its ETag. */
export const seenVersionQuery = (model: string, version: string) =>
  queryOptions({
    queryKey: keys.models("seen", { model, version }),
    queryFn: ({ signal }) => see(api.GET("/v1/models/{model}/versions/{version}", { params: { path: { model, version } }, signal })),
    gcTime: 0,
  });
