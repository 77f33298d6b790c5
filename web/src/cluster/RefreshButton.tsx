import { useIsFetching, useQueryClient } from "@tanstack/react-query";
import { IconButton } from "@/parts/Button";

/** Refetches the cluster's data. No events report work of other tenants and new machines. */
export function RefreshButton() {
  const client = useQueryClient();
  const isAsking = useIsFetching({ queryKey: ["cluster"] }) > 0;
  return <IconButton icon="refresh" label="Refresh" title="Refresh. Your own work updates live; work of other tenants and new machines do not." disabled={isAsking} onClick={() => void client.invalidateQueries({ queryKey: ["cluster"] })} />;
}
