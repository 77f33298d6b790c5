/** Changing what one has seen, and nothing that somebody has changed since. */
import { ask } from "./client";
import { asProblem } from "./problem";

export interface Seen<Thing> {
  value: Thing;
  /** Names it as it was. */
  tag: string;
}

/** The answer of `api.GET(…)` with its tag. Raises Problem as `ask` does. */
export async function see<Thing>(asked: Promise<{ data?: Thing; error?: unknown; response: Response }>): Promise<Seen<Thing>> {
  const value = await ask(asked);
  return { value, tag: (await asked).response.headers.get("ETag") ?? "" };
}

/** The header of a change that is made to what was seen alone. */
export function ifStill({ tag }: Seen<unknown>): { "If-Match": string } {
  return { "If-Match": tag };
}

/** True where somebody has changed it since it was seen. */
export function isOvertaken(error: unknown): boolean {
  return asProblem(error).code === "precondition_failed";
}
