import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { daysBetween } from "@/charts/days";
import { OverTime } from "./OverTime";
import map from "./Map.module.css";
import { costsQuery } from "./data";
import { COST_KEYS, costName, lastDays, type CostBy } from "./usage";

const SPANS = [7, 30, 90];

/** Cost of rented machines per day, as the provider charges it. */
export default function CostTab() {
  const search = useSearch({ from: "/cluster/$tab" });
  const by: CostBy = COST_KEYS.find((key) => key.value === search.by)?.value ?? "pool";
  const days = SPANS.includes(search.days ?? 0) ? (search.days ?? 30) : 30;
  const [since, until] = lastDays(days, new Date());
  const query = useQuery(costsQuery(since, until));
  return (
    <OverTime
      hours="Machine-hours"
      keys={COST_KEYS}
      spans={SPANS}
      by={by}
      days={daysBetween(since, `${until}T23:59:59Z`)}
      rows={query.data?.items.map((row) => ({ day: row.day, name: costName(row, by), hours: row.hours, cost: row.cost })) ?? []}
      query={query}
      isKnown={query.data !== undefined}
      empty="No machines were rented in this period"
      note={<Link to="/cluster/$tab" params={{ tab: "usage" }} search={{ measure: "cost" }} className={map.link}>See cost by user and experiment</Link>}
    />
  );
}
