/** Query keys. `live/apply` uses them to find the queries that an event changes, so all keys are defined here. */
export const keys = {
  me: ["me"] as const,
  ways: ["ways"] as const,
  /** Health of the platform. */
  health: ["health"] as const,
  /** The caller's saved views. */
  views: ["views"] as const,
  experimentLists: ["experiments"] as const,
  experiments: (asked: object) => ["experiments", asked] as const,
  /** Counts of grouped experiments; stale when an experiment is created, deleted or changes its state. */
  experimentGroups: (asked: object) => ["experiments", "groups", asked] as const,
  experimentAny: ["experiment"] as const,
  experiment: (reference: string | number) => ["experiment", String(reference)] as const,
  /** Data of one experiment that its events make stale; `part` is for example `"table"` or `"metrics"`. */
  ofExperiment: (reference: string | number, part: string, asked: object = {}) =>
    ["experiment", String(reference), part, asked] as const,
  trialAny: ["trial"] as const,
  trial: (id: string) => ["trial", id] as const,
  ofTrial: (id: string, part: string, asked: object = {}) => ["trial", id, part, asked] as const,
  /** Immutable data that no event makes stale, because the key contains its version. */
  immutable: (part: string, asked: object) => ["standing", part, asked] as const,
  cluster: (part: string, asked: object = {}) => ["cluster", part, asked] as const,
  models: (part: string, asked: object = {}) => ["models", part, asked] as const,
  admin: (part: string, asked: object = {}) => ["admin", part, asked] as const,
};
