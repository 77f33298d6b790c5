/** Asks again what has become stale, at most once a second, and never before the answer that is on its way. A query's `meta.restsMs` says that it may rest longer. */
import type { Query, QueryClient } from "@tanstack/react-query";

export const ASK_AGAIN_MS = 1000;

/**
 * What is asked while it changes all the time would otherwise be given up for a newer question each second: behind a slow gateway
 * no answer would ever be shown.
 */
export class Asking {
  private stale = new Set<Query>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly client: QueryClient,
    private readonly pauseMs = ASK_AGAIN_MS,
  ) {}

  /** These are stale: of what is shown now a new answer comes soon; the rest is asked when somebody looks. */
  mark(isStale: (query: Query) => boolean): void {
    for (const query of this.client.getQueryCache().findAll({ predicate: isStale })) this.stale.add(query);
    this.rest();
  }

  end(): void {
    clearTimeout(this.timer);
  }

  private rest(): void {
    if (this.stale.size > 0) this.timer ??= setTimeout(() => this.ask(), this.pauseMs);
  }

  private ask(): void {
    this.timer = undefined;
    const due = new Set([...this.stale].filter((query) => query.state.fetchStatus !== "fetching" && hasRested(query)));
    for (const query of due) this.stale.delete(query);
    void this.client.invalidateQueries({ predicate: (query) => due.has(query) });
    this.rest();
  }
}

function hasRested({ state, meta }: Query): boolean {
  return Date.now() >= state.dataUpdatedAt + Number(meta?.restsMs ?? 0);
}
