/** Returns the names of the hyperparameters that a search varies, in the order of the config. */
export function varying(config: Record<string, unknown>): string[] {
  const space = (config.hyperparameters ?? {}) as Record<string, { type?: string } | undefined>;
  const found = Object.entries(space).filter(([, one]) => one !== null && typeof one === "object" && one?.type !== "const");
  return found.map(([name]) => name);
}
