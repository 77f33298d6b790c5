/** One event stream for the whole page: what it tells goes into the query cache, and whoever shows it follows. */
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import { keys } from "@/api/keys";
import type { Experiment, LiveEvent } from "@/api/types";
import { apply, type Stale } from "./apply";
import { follow, type Connection } from "./socket";

/** Events are taken together for this long: the eye sees no difference, and the page is drawn four times a second at most. */
const GATHER_MS = 250;
/** What must be asked again is asked this often at most. */
const ASK_AGAIN_MS = 1000;

const LiveContext = createContext<Connection>("connecting");

/** How the page stands with the gateway's event stream. */
export function useConnection(): Connection {
  return useContext(LiveContext);
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(() => {
    const taker = new Taker(client);
    const end = follow({
      path: "/v1/events",
      onItem: (frame) => taker.take(frame.data as LiveEvent),
      onConnection: setConnection,
      onGap: () => void client.invalidateQueries(),
    });
    return () => {
      end();
      taker.end();
    };
  }, [client]);
  return <LiveContext value={connection}>{children}</LiveContext>;
}

class Taker {
  private events: LiveEvent[] = [];
  private gathering: ReturnType<typeof setTimeout> | undefined;
  private asking: ReturnType<typeof setTimeout> | undefined;
  private stale: Stale | null = null;

  constructor(private readonly client: QueryClient) {}

  take(event: LiveEvent): void {
    this.events.push(event);
    this.gathering ??= setTimeout(() => this.settle(), GATHER_MS);
  }

  end(): void {
    clearTimeout(this.gathering);
    clearTimeout(this.asking);
  }

  private settle(): void {
    this.gathering = undefined;
    const found = apply(this.client, this.events);
    this.events = [];
    this.stale = this.stale === null ? found : joined(this.stale, found);
    this.asking ??= setTimeout(() => this.askAgain(), ASK_AGAIN_MS - GATHER_MS);
  }

  private askAgain(): void {
    this.asking = undefined;
    const stale = this.stale;
    this.stale = null;
    if (stale !== null) invalidate(this.client, stale);
  }
}

function joined(one: Stale, other: Stale): Stale {
  return {
    lists: one.lists || other.lists,
    models: one.models || other.models,
    experiments: new Set([...one.experiments, ...other.experiments]),
    trials: new Set([...one.trials, ...other.trials]),
  };
}

/** Only what is shown now is asked again; the rest is marked, and asked when somebody looks. */
function invalidate(client: QueryClient, stale: Stale): void {
  if (stale.lists) void client.invalidateQueries({ queryKey: keys.experimentLists });
  if (stale.models) void client.invalidateQueries({ queryKey: ["models"] });
  if (stale.experiments.size > 0) {
    void client.invalidateQueries({
      queryKey: keys.experimentAny,
      predicate: ({ queryKey }) => queryKey.length > 2 && stale.experiments.has(idOf(client, String(queryKey[1]))),
    });
    void client.invalidateQueries({ queryKey: ["cluster", "queue"] });
  }
  if (stale.trials.size > 0) {
    void client.invalidateQueries({
      queryKey: keys.trialAny,
      predicate: ({ queryKey }) => queryKey.length > 2 && stale.trials.has(String(queryKey[1])),
    });
  }
}

/** Pages know an experiment by its number, events by its id. */
function idOf(client: QueryClient, reference: string): string {
  return client.getQueryData<Experiment>(keys.experiment(reference))?.id ?? reference;
}
