/** What makes one config out of another, as a JSON merge patch (RFC 7396): a fork says what is different. Pure. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The patch that turns `from` into `to`; undefined where they are equal. */
export function patchOf(from: Json | undefined, to: Json): Json | undefined {
  if (!isObject(from) || !isObject(to)) return JSON.stringify(from) === JSON.stringify(to) ? undefined : to;
  const patch: Record<string, Json> = {};
  for (const [key, value] of Object.entries(to)) {
    const changed = patchOf(from[key], value);
    if (changed !== undefined) patch[key] = changed;
  }
  for (const key of Object.keys(from)) if (!(key in to)) patch[key] = null;
  return Object.keys(patch).length > 0 ? patch : undefined;
}

export function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
