/** Machines as they come and go: the site's own stream says when what is shown of them has changed. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Asking } from "@/live/asking";
import { follow } from "@/live/socket";

/** Asks again for the machines that are shown when any of them, or what a pool may rent, has changed. */
export function useMachineNews(): void {
  const client = useQueryClient();
  useEffect(() => {
    const asking = new Asking(client);
    const news = () => asking.mark(({ queryKey: [kind, part] }) => kind === "cluster" && part === "instances");
    const end = follow({ path: "/v1/machine-events", onItem: news, onGap: news });
    return () => {
      end();
      asking.end();
    };
  }, [client]);
}
