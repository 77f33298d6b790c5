/** Queries of the code of experiments, which never changes. */
import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";

export function codeQuery(experiment: string) {
  return queryOptions({
    queryKey: keys.immutable("code", { experiment }),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments/{experiment}/code", { params: { path: { experiment } }, signal })),
    staleTime: Infinity,
  });
}

export function fileQuery(experiment: string, path: string) {
  return queryOptions({
    queryKey: keys.immutable("code file", { experiment, path }),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments/{experiment}/code/file", { params: { path: { experiment }, query: { path } }, signal })),
    staleTime: Infinity,
  });
}
