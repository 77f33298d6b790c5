import { formatNumber } from "./format";

/** A rounded number with tabular digits and a unit; the tooltip has all digits. */
export function Num({ value, unit, digits }: { value: number | null | undefined; unit?: string; digits?: number }) {
  const isOdd = typeof value === "number" && !Number.isFinite(value);
  return (
    <span className="number" title={typeof value === "number" ? String(value) : undefined} data-odd={isOdd || undefined}>
      {formatNumber(value, digits)}
      {unit && value !== null && value !== undefined && <span className="muted"> {unit}</span>}
    </span>
  );
}
