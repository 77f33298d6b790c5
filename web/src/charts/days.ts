/** Amounts by day and name as series for bars. Pure. */

export interface Amount {
  /** ISO date, such as 2026-11-22. */
  day: string;
  name: string;
  value: number;
}

export interface Series {
  name: string;
  total: number;
  /** One value per day. */
  values: number[];
}

const DAY_MS = 86_400_000;

/** Returns the UTC days that a period touches; its end is exclusive. */
export function daysBetween(since: string, until: string): string[] {
  const dayOf = (moment: number) => Math.floor(moment / DAY_MS);
  const [first, last] = [dayOf(Date.parse(since)), dayOf(Date.parse(until) - 1)];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => new Date((first + at) * DAY_MS).toISOString().slice(0, 10));
}

/** Returns one series per name, sorted by total descending, then by name; days without an amount are zero. */
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

/** Returns the first `most` series and the sum of the others as one more. */
export function withRest(series: readonly Series[], most: number): Series[] {
  if (series.length <= most + 1) return [...series];
  const left = series.slice(most);
  const values = (left[0]?.values ?? []).map((_, at) => left.reduce((sum, one) => sum + (one.values[at] ?? 0), 0));
  return [...series.slice(0, most), { name: `${left.length} others`, total: left.reduce((sum, one) => sum + one.total, 0), values }];
}
