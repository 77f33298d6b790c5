/** Keeps the list of machines current with the site's stream of machine events. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Asking } from "@/live/asking";
import { follow } from "@/live/socket";

/** Refetches the machines when one of them or a machine pool has changed. */
export function useMachineEvents(): void {
  const client = useQueryClient();
  useEffect(() => {
    const refetcher = new Asking(client);
    const markStale = () => refetcher.mark(({ queryKey: [kind, part] }) => kind === "cluster" && part === "instances");
    const end = follow({ path: "/v1/machine-events", onItem: markStale, onGap: markStale });
    return () => {
      end();
      refetcher.end();
    };
  }, [client]);
}
