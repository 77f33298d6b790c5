/** Refetches stale queries, at most once per second and never before a pending response. A query can set a longer interval in `meta.minIntervalMs`. */
import type { Query, QueryClient } from "@tanstack/react-query";

export const ASK_AGAIN_MS = 1000;

/**
 * Data that changes all the time would otherwise cancel its pending request each second: with a slow gateway,
 * no response would ever be shown.
 */
export class Asking {
  private stale = new Set<Query>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly client: QueryClient,
    private readonly pauseMs = ASK_AGAIN_MS,
  ) {}

  /** Marks queries as stale: active ones are refetched soon, the others when they are shown. */
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
  return Date.now() >= state.dataUpdatedAt + Number(meta?.minIntervalMs ?? 0);
}
