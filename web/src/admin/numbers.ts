/** Numbers of forms. Pure. */

/** What is typed as a number, null where nothing is, undefined where it is none that is asked for. */
export function readNumber(text: string, isWhole = true): number | null | undefined {
  if (text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 && (!isWhole || Number.isInteger(value)) ? value : undefined;
}

/** What stands in a field for a number that may be absent. */
export function typed(value: number | null | undefined): string {
  return value == null ? "" : String(value);
}
