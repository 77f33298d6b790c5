/** Query keys. `live/apply` uses them to find the queries that an event changes, so all keys are defined here. */
export const keys = {
  me: ["me"] as const,
  ways: ["ways"] as const,
  /** Health of the platform. */
  health: ["health"] as const,
  /** The caller's saved views. */
  views: ["views"] as const,
  experimentLists: ["experiments"] as const,
  experiments: (query: object) => ["experiments", query] as const,
  /** Counts of grouped experiments; stale when an experiment is created, deleted or changes its state. */
  experimentGroups: (query: object) => ["experiments", "groups", query] as const,
  experimentAny: ["experiment"] as const,
  experiment: (reference: string | number) => ["experiment", String(reference)] as const,
  /** Data of one experiment that its events make stale; `part` is for example `"table"` or `"metrics"`. */
  ofExperiment: (reference: string | number, part: string, query: object = {}) =>
    ["experiment", String(reference), part, query] as const,
  trialAny: ["trial"] as const,
  trial: (id: string) => ["trial", id] as const,
  ofTrial: (id: string, part: string, query: object = {}) => ["trial", id, part, query] as const,
  /** Immutable data that no event makes stale, because the key contains its version. */
  immutable: (part: string, query: object) => ["standing", part, query] as const,
  cluster: (part: string, query: object = {}) => ["cluster", part, query] as const,
  models: (part: string, query: object = {}) => ["models", part, query] as const,
  admin: (part: string, query: object = {}) => ["admin", part, query] as const,
};
