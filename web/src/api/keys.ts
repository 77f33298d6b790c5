/** The names under which answers are kept. `live/apply` finds by them what an event changes, so every query is named here. */
export const keys = {
  me: ["me"] as const,
  ways: ["ways"] as const,
  /** Whether the platform works. */
  health: ["health"] as const,
  /** The reader's own saved views. */
  views: ["views"] as const,
  experimentLists: ["experiments"] as const,
  experiments: (asked: object) => ["experiments", asked] as const,
  /** How many experiments share what: read of the lists, and stale when one of them comes, goes or changes its state. */
  experimentGroups: (asked: object) => ["experiments", "groups", asked] as const,
  experimentAny: ["experiment"] as const,
  experiment: (reference: string | number) => ["experiment", String(reference)] as const,
  /** Anything read of one experiment that its events make stale: `part` such as `"table"` or `"metrics"`. */
  ofExperiment: (reference: string | number, part: string, asked: object = {}) =>
    ["experiment", String(reference), part, asked] as const,
  trialAny: ["trial"] as const,
  trial: (id: string) => ["trial", id] as const,
  ofTrial: (id: string, part: string, asked: object = {}) => ["trial", id, part, asked] as const,
  /** What no event makes stale: the question itself says of what stand it is. */
  standing: (part: string, asked: object) => ["standing", part, asked] as const,
  cluster: (part: string, asked: object = {}) => ["cluster", part, asked] as const,
  models: (part: string, asked: object = {}) => ["models", part, asked] as const,
  admin: (part: string, asked: object = {}) => ["admin", part, asked] as const,
};
