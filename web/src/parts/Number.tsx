import { formatNumber } from "./format";

/** A number in figures of one width, with its unit; the whole number behind it. */
export function Num({ value, unit, digits }: { value: number | null | undefined; unit?: string; digits?: number }) {
  const isOdd = typeof value === "number" && !Number.isFinite(value);
  return (
    <span className="number" title={typeof value === "number" ? String(value) : undefined} data-odd={isOdd || undefined}>
      {formatNumber(value, digits)}
      {unit && value !== null && value !== undefined && <span className="muted"> {unit}</span>}
    </span>
  );
}
