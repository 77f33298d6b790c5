/** Importance of hyperparameters from the results of trials. Pure. */

export interface Sample {
  id: string;
  label: string;
  /** Values by hyperparameter: numbers, strings or undefined. */
  values: Readonly<Record<string, unknown>>;
  result: number;
}

export interface Importance {
  name: string;
  /** From 0 to 1: the share of the results' variance that the hyperparameter explains on its own. */
  share: number;
}

const MOST_GROUPS = 6;

/** Returns the share of each hyperparameter, greatest first: omega squared, which corrects for chance. */
export function importances(samples: readonly Sample[], names: readonly string[]): Importance[] {
  const sound = samples.filter(({ result }) => Number.isFinite(result));
  const found = names.map((name) => ({ name, share: shareOf(sound, name) }));
  return found.sort((one, other) => other.share - one.share);
}

function shareOf(samples: readonly Sample[], name: string): number {
  const groups = grouped(samples, name);
  const [count, parts] = [samples.length, groups.length];
  if (parts < 2 || count <= parts) return 0;
  const middle = mean(samples.map(({ result }) => result));
  const whole = sum(samples.map(({ result }) => (result - middle) ** 2));
  const between = sum(groups.map((group) => group.length * (mean(group) - middle) ** 2));
  const noise = (whole - between) / (count - parts);
  return whole === 0 ? 0 : Math.max(0, Math.min(1, (between - (parts - 1) * noise) / (whole + noise)));
}

/** Groups the results by category, or by quantiles of numeric values. */
function grouped(samples: readonly Sample[], name: string): number[][] {
  const distinct = new Set(samples.map(({ values }) => JSON.stringify(values[name] ?? null)));
  const isFew = distinct.size <= MOST_GROUPS || samples.some(({ values }) => typeof values[name] !== "number");
  if (isFew) {
    const by = new Map<string, number[]>();
    for (const { values, result } of samples) {
      const key = JSON.stringify(values[name] ?? null);
      by.set(key, [...(by.get(key) ?? []), result]);
    }
    return [...by.values()];
  }
  const sorted = [...samples].sort((one, other) => Number(one.values[name]) - Number(other.values[name]));
  const parts = Math.max(2, Math.min(MOST_GROUPS, Math.floor(sorted.length / 4)));
  return Array.from({ length: parts }, (_, at) => sorted.slice(Math.floor((at * sorted.length) / parts), Math.floor(((at + 1) * sorted.length) / parts)).map(({ result }) => result)).filter((group) => group.length > 0);
}

/** True if positive values span more than a factor of 50, so that the axis is logarithmic. */
export function isWide(values: readonly unknown[]): boolean {
  const numbers = values.filter((value): value is number => typeof value === "number");
  const [least, greatest] = [Math.min(...numbers), Math.max(...numbers)];
  return numbers.length > 1 && least > 0 && greatest / least > 50;
}

function sum(values: readonly number[]): number {
  return values.reduce((one, other) => one + other, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
