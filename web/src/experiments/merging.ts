/** JSON merge patches (RFC 7396) between configs, for forks. Pure. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Returns the patch that turns `from` into `to`; undefined if they are equal. */
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
