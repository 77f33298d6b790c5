/** Amounts by day and name: ordered, cut and added up for bars. Pure. */

export interface Amount {
  /** As 2026-11-22. */
  day: string;
  name: string;
  value: number;
}

export interface Series {
  name: string;
  total: number;
  /** One value for each day. */
  values: number[];
}

const DAY_MS = 86_400_000;

/** The days of UTC that a period touches; its end belongs to none. */
export function daysBetween(since: string, until: string): string[] {
  const dayOf = (moment: number) => Math.floor(moment / DAY_MS);
  const [first, last] = [dayOf(Date.parse(since)), dayOf(Date.parse(until) - 1)];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => new Date((first + at) * DAY_MS).toISOString().slice(0, 10));
}

/** One series for each name, the greatest first, equal ones by name; a day without an amount is zero. */
export function seriesOf(amounts: readonly Amount[], days: readonly string[]): Series[] {
  const places = new Map(days.map((day, at) => [day, at]));
  const found = new Map<string, Series>();
  for (const { day, name, value } of amounts) {
    const at = places.get(day);
    if (at === undefined) continue;
    const series = found.get(name) ?? { name, total: 0, values: days.map(() => 0) };
    series.values[at] = (series.values[at] ?? 0) + value;
    series.total += value;
    found.set(name, series);
  }
  return [...found.values()].sort((one, other) => other.total - one.total || (one.name < other.name ? -1 : 1));
}

/** The first `most` series, and what is left of them as one more. */
export function withRest(series: readonly Series[], most: number): Series[] {
  if (series.length <= most + 1) return [...series];
  const left = series.slice(most);
  const values = (left[0]?.values ?? []).map((_, at) => left.reduce((sum, one) => sum + (one.values[at] ?? 0), 0));
  return [...series.slice(0, most), { name: `${left.length} others`, total: left.reduce((sum, one) => sum + one.total, 0), values }];
}
