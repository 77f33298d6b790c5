/** Numbers in forms. Pure. */

/** Parses a number: null for empty text, undefined for anything but a non-negative (whole) number. */
export function readNumber(text: string, isWhole = true): number | null | undefined {
  if (text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 && (!isWhole || Number.isInteger(value)) ? value : undefined;
}

/** Returns the text of a field for an optional number. */
export function typed(value: number | null | undefined): string {
  return value == null ? "" : String(value);
}
