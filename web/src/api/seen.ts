/** Conditional changes: an object is changed only if it is still as it was read. */
import { ask } from "./client";
import { asProblem } from "./problem";

export interface Seen<Thing> {
  value: Thing;
  /** The ETag of the object. */
  tag: string;
}

/** Returns the response of `api.GET(…)` with its ETag. Raises Problem as `ask` does. */
export async function see<Thing>(request: Promise<{ data?: Thing; error?: unknown; response: Response }>): Promise<Seen<Thing>> {
  const value = await ask(request);
  return { value, tag: (await request).response.headers.get("ETag") ?? "" };
}

/** Returns the header that makes a change conditional on the ETag. */
export function ifStill({ tag }: Seen<unknown>): { "If-Match": string } {
  return { "If-Match": tag };
}

/** True if the object has changed since it was read. */
export function isOvertaken(error: unknown): boolean {
  return asProblem(error).code === "precondition_failed";
}
