import { useIsFetching, useQueryClient } from "@tanstack/react-query";
import { IconButton } from "@/parts/Button";

/** Other tenants' work and machines that join tell this page nothing: it can be asked again. */
export function Seen() {
  const client = useQueryClient();
  const isAsking = useIsFetching({ queryKey: ["cluster"] }) > 0;
  return <IconButton icon="refresh" label="Look again" title="Look again: your own work is live, other tenants' work and new machines are not" disabled={isAsking} onClick={() => void client.invalidateQueries({ queryKey: ["cluster"] })} />;
}
