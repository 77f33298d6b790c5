/** Who is signed in, and what may be done: what a role may not do is not shown. */
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { Me } from "@/api/types";
import { credential } from "@/api/credential";

export const meQuery = queryOptions({
  queryKey: keys.me,
  queryFn: ({ signal }) => ask(api.GET("/v1/me", { signal })),
  staleTime: Infinity,
  retry: (count, error) => !("status" in error && error.status === 401) && count < 3,
});

/** Who is signed in. Only below `Gate`, which shows nothing else until somebody is. */
export function useMe(): Me {
  const { data } = useQuery(meQuery);
  if (data === undefined) throw new Error("nobody is signed in");
  return data;
}

/** True where the caller may do this somewhere, such as `may("experiment.create")`. */
export function useMay(): (permission: string) => boolean {
  const held = useMe().permissions;
  return useCallback((permission) => held.includes(permission), [held]);
}

/** Ends the session here and everywhere that shows it. */
export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return useCallback(async () => {
    try {
      await api.DELETE("/v1/sessions/{session}", { params: { path: { session: "current" } } });
    } finally {
      client.clear();
      credential.refused();
    }
  }, [client]);
}
