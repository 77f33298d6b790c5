/** Formats numbers, times and sizes. Pure: the current time is an argument. */

const NONE = "–";

/** Formats a number to some significant digits; NaN and infinities by name or sign, no value as a dash. */
export function formatNumber(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined) return NONE;
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(digits - 2).replace("e+", "e").replace("-", "−");
  if (Number.isInteger(value)) return grouped(value);
  return grouped(Number(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(size))))));
}

function grouped(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 10 }).replace("-", "−");
}

/** Formats a share of one as a percentage. */
export function formatPercent(part: number | null | undefined, digits = 0): string {
  if (part === null || part === undefined || !Number.isFinite(part)) return NONE;
  return `${(part * 100).toFixed(digits)} %`;
}

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Formats bytes in powers of 1000. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return NONE;
  let at = 0;
  let left = bytes;
  while (Math.abs(left) >= 1000 && at < BYTE_UNITS.length - 1) {
    left /= 1000;
    at += 1;
  }
  return `${at === 0 ? left : left.toPrecision(3)} ${BYTE_UNITS[at]}`;
}

/** Formats a duration in its two greatest units. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  const whole = Math.max(0, Math.round(seconds));
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const [days, hours, minutes] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  if (days > 0) return hours ? `${days} d ${hours} h` : `${days} d`;
  if (hours > 0) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  if (minutes > 0) return whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  return `${whole} s`;
}

/** Formats a time relative to now in one unit. */
export function formatAgo(then: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - then.getTime()) / 1000);
  if (Math.abs(seconds) < 5) return "now";
  const size = Math.abs(seconds);
  const amount =
    size < 60 ? `${size} s` : size < 3600 ? `${Math.floor(size / 60)} min` : size < 86400 ? `${Math.floor(size / 3600)} h` : `${Math.floor(size / 86400)} d`;
  return seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

/** Formats a time in the user's time zone to the second, with the zone's name. */
export function formatMoment(then: Date, zone?: string): string {
  return then.toLocaleString("en-GB", {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
    timeZone: zone,
  });
}

/** Formats money with two digits, or more below a cent; without a currency sign, because the currency is that of the site's prices. */
export function formatMoney(amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return NONE;
  if (amount !== 0 && Math.abs(amount) < 0.01) return amount.toPrecision(2);
  return amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

/** Formats a count with its noun: `1 trial`, `2 trials`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
