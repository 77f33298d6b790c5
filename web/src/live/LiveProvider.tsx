/** One event stream for the whole page, whose events update the query cache. */
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import { keys } from "@/api/keys";
import type { Experiment, LiveEvent } from "@/api/types";
import { useMay } from "@/session/session";
import { apply, type Stale } from "./apply";
import { ASK_AGAIN_MS, Asking } from "./asking";
import { follow, type Connection } from "./socket";

/** The kinds of events that pages show: the default kinds and labels, which must be requested. */
const KINDS: readonly LiveEvent["kind"][] = ["experiment", "trial", "run", "checkpoint", "model", "version", "labels"];
const EVENTS = `/v1/events?${KINDS.map((kind) => `kind=${kind}`).join("&")}`;

/** Events are batched for this long, so that the page renders at most four times per second. */
const GATHER_MS = 250;

const LiveContext = createContext<Connection | null>(null);

/** State of the connection to the event stream; null for users without access to events. */
export function useConnection(): Connection | null {
  return useContext(LiveContext);
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const mayFollow = useMay()("experiment.read");
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(() => {
    if (!mayFollow) return;
    const taker = new Taker(client);
    const end = follow({
      path: EVENTS,
      onItem: (frame) => taker.take(frame.data as LiveEvent),
      onConnection: setConnection,
      onGap: () => void client.invalidateQueries(),
    });
    return () => {
      end();
      taker.end();
    };
  }, [client, mayFollow]);
  return <LiveContext value={mayFollow ? connection : null}>{children}</LiveContext>;
}

class Taker {
  private events: LiveEvent[] = [];
  private gathering: ReturnType<typeof setTimeout> | undefined;
  private readonly asking: Asking;

  constructor(private readonly client: QueryClient) {
    this.asking = new Asking(client, ASK_AGAIN_MS - GATHER_MS);
  }

  take(event: LiveEvent): void {
    this.events.push(event);
    this.gathering ??= setTimeout(() => this.settle(), GATHER_MS);
  }

  end(): void {
    clearTimeout(this.gathering);
    this.asking.end();
  }

  private settle(): void {
    this.gathering = undefined;
    const stale = apply(this.client, this.events);
    this.events = [];
    this.asking.mark(({ queryKey }) => isStale(this.client, queryKey, stale));
  }
}

function isStale(client: QueryClient, [kind, name, part]: readonly unknown[], stale: Stale): boolean {
  switch (kind) {
    case "experiments":
      return name === "groups" ? stale.groups : stale.lists;
    case "models":
      return stale.models;
    case "experiment":
      return part !== undefined && stale.experiments.has(idOf(client, String(name)));
    case "trial":
      return stale.trials.has(String(name));
    default:
      return kind === "cluster" && name === "queue" && stale.experiments.size > 0;
  }
}

/** Maps ids, which events use, to numbers, which pages use. */
function idOf(client: QueryClient, reference: string): string {
  return client.getQueryData<Experiment>(keys.experiment(reference))?.id ?? reference;
}
