/** The API's small language of filters and orders (`docs/api.md`). Pure. */

/** All of them together; those that hold an `or` keep their meaning. */
export function joined(...parts: readonly (string | undefined | null)[]): string {
  const said = parts.filter((part): part is string => Boolean(part?.trim())).map((part) => part.trim());
  if (said.length < 2) return said[0] ?? "";
  return said.map((part) => (/\bor\b/i.test(part) ? `(${part})` : part)).join(" and ");
}

/** A text of the language: in double quotes, with what would end them escaped. */
export function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
