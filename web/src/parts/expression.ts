/** Expressions of the API's filter language (`docs/api.md`). Pure. */

/** Joins conditions with `and`; conditions with an `or` are put in parentheses. */
export function joined(...parts: readonly (string | undefined | null)[]): string {
  const conditions = parts.filter((part): part is string => Boolean(part?.trim())).map((part) => part.trim());
  if (conditions.length < 2) return conditions[0] ?? "";
  return conditions.map((part) => (/\bor\b/i.test(part) ? `(${part})` : part)).join(" and ");
}

/** Quotes a string for the filter language. */
export function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
