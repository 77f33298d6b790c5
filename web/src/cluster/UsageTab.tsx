import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { daysBetween } from "@/charts/days";
import { formatNumber } from "@/parts/format";
import { useMay } from "@/session/session";
import { OverTime } from "./OverTime";
import { usageQuery } from "./data";
import { USAGE_KEYS, usageName, type UsageBy } from "./usage";

const SPANS = [7, 30, 90, 365];

/** Slot-hours and cost per day by tenant, workspace, user, experiment, label or pool. */
export default function UsageTab() {
  const search = useSearch({ from: "/cluster/$tab" });
  const seesTenants = useMay()("tenant.read");
  const keys = USAGE_KEYS.filter((key) => key.value !== "tenant" || seesTenants);
  const by: UsageBy = keys.find((key) => key.value === search.by)?.value ?? "workspace";
  const days = search.days ?? 30;
  const query = useQuery(usageQuery(by, days));
  const { data } = query;
  const unpriced = data?.unpriced_slot_seconds ?? 0;
  return (
    <OverTime
      hours="Slot-hours"
      keys={keys}
      spans={SPANS}
      by={by}
      days={data ? daysBetween(data.since, data.until) : []}
      rows={data?.items.map((row) => ({ day: row.day ?? "", name: usageName(row, by), hours: row.slot_seconds / 3600, cost: row.cost ?? 0 })) ?? []}
      query={query}
      isKnown={data !== undefined}
      empty="No slots were used in this period"
      note={unpriced > 0 ? `${formatNumber(unpriced / 3600, 3)} slot-hours have no price` : "all slot-hours priced"}
    />
  );
}
