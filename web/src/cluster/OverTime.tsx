import type { UseQueryResult } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { DayBars } from "@/charts/DayBars";
import { seriesOf, withRest } from "@/charts/days";
import { Segments } from "@/parts/Segments";
import { formatMoney, formatNumber, formatPercent } from "@/parts/format";
import { QueryTable } from "@/parts/QueryTable";
import { Figure } from "@/parts/Page";
import map from "./Map.module.css";
import css from "./OverTime.module.css";
import { totalsOf, type Measure, type Total } from "./usage";

/** Hours and cost of one name on one day. */
export interface DayRow extends Total {
  day: string;
}

interface OverTimeProps {
  /** Label of the hours: "Slot-hours" or "Machine-hours". */
  hours: string;
  keys: readonly { value: string; label: string }[];
  spans: readonly number[];
  by: string;
  days: readonly string[];
  rows: readonly DayRow[];
  query: Pick<UseQueryResult, "error" | "refetch">;
  isKnown: boolean;
  empty: string;
  note?: ReactNode;
}

const MOST_SERIES = 8;

/** Hours and cost per day, grouped by one key: bars per day and a table of totals. The choices are kept in the URL. */
export function OverTime({ hours, keys, spans, by, days, rows, query, isKnown, empty, note }: OverTimeProps) {
  const navigate = useNavigate();
  const { measure = "hours" } = useSearch({ from: "/cluster/$tab" });
  const choose = (part: object) => void navigate({ to: ".", search: (before: object) => ({ ...before, ...part }), replace: true });
  const totals = totalsOf(rows, measure);
  const whole = { hours: sum(totals, "hours"), cost: sum(totals, "cost") };
  const format = measure === "cost" ? formatMoney : (value: number) => formatNumber(value, 3);
  const series = withRest(seriesOf(rows.map((row) => ({ day: row.day, name: row.name, value: row[measure] })), days), MOST_SERIES);
  return (
    <>
      <div className={css.tools}>
        <Segments label="Group by" value={by} options={keys} onChange={(next) => choose({ by: next })} />
        <Segments label="Days" value={String(days.length)} options={spans.map((span) => ({ value: String(span), label: `${span} days` }))} onChange={(next) => choose({ days: Number(next) })} />
        <Segments label="Measure" value={measure} options={[{ value: "hours", label: hours }, { value: "cost", label: "Cost" }]} onChange={(next) => choose({ measure: next })} />
      </div>
      {isKnown && !query.error && rows.length > 0 && (
        <>
          <dl className={map.totals}>
            <Figure label={hours} note={`in ${days.length} days`}>{formatNumber(whole.hours, 3)}</Figure>
            <Figure label="Cost" note={note}>{formatMoney(whole.cost)}</Figure>
          </dl>
          <DayBars label={measure === "cost" ? "Cost" : hours} days={days} series={series.filter((one) => one.total > 0)} format={format} />
        </>
      )}
      <QueryTable
        query={query}
        items={isKnown ? totals : undefined}
        idOf={(one) => one.name}
        icon="cluster"
        empty={empty}
        columns={[
          { header: keys.find((key) => key.value === by)?.label ?? by, cell: (one) => <b>{one.name}</b> },
          { header: hours, cell: (one) => formatNumber(one.hours, 3), end: true },
          { header: "Share", cell: (one) => formatPercent(whole[measure] ? one[measure] / whole[measure] : 0), end: true },
          { header: "Cost", cell: (one) => formatMoney(one.cost), end: true },
        ]}
      />
    </>
  );
}

function sum(rows: readonly Total[], of: Measure): number {
  return rows.reduce((all, row) => all + row[of], 0);
}
