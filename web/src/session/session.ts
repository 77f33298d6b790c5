/** The signed-in user and their permissions. Actions without permission are not shown. */
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

/** Returns the signed-in user. Use it only below `Gate`. */
export function useMe(): Me {
  const { data } = useQuery(meQuery);
  if (data === undefined) throw new Error("useMe is used outside of Gate");
  return data;
}

/** Returns a test for permissions in any scope, such as `may("experiment.create")`. */
export function useMay(): (permission: string) => boolean {
  const permissions = useMe().permissions;
  return useCallback((permission) => permissions.includes(permission), [permissions]);
}

/** Returns a function that ends the session. */
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
