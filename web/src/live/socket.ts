/**
 * Follows one stream of the gateway over a WebSocket: each item once and in order, across lost connections and restarted gateways.
 * A socket, and not an event source, because browsers hold at most six requests open to a host: the seventh tab would wait for ever.
 */
import { credential } from "@/api/credential";

export interface Frame {
  id: string | null;
  event: string | null;
  data: unknown;
}

export type Connection = "connecting" | "open" | "lost" | "ended";

export interface Follower {
  /** A path of a streaming operation, such as `/v1/events`, with its query. */
  path: string;
  after?: string;
  /** After a break it goes on from then: for who reads anew what came meanwhile, which `onBegin` says when to do. */
  isFromNow?: boolean;
  /** What comes from here on is told; again after each break. */
  onBegin?: () => void;
  onItem: (frame: Frame) => void;
  onConnection?: (connection: Connection) => void;
  /** What was to come is no longer kept: read everything again. The stream goes on from now. */
  onGap?: () => void;
  /** The stream has no more to tell. */
  onEnd?: () => void;
}

const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 10_000;
const LOST_PLACE = new Set(["events_expired", "cursor_invalid"]);

/** Begins to follow; the answer ends it. */
export function follow(follower: Follower): () => void {
  const stream = new Stream(follower);
  stream.connect();
  return () => stream.end();
}

class Stream {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private after: string | undefined;
  private failures = 0;
  private isOver = false;
  private readonly retry = () => this.connectNow();
  /** A connection that is gone without a word may look open for minutes, and one that is being made may never be: the browser's word counts. */
  private readonly onNetwork = () => {
    if (this.socket !== null) this.drop(this.socket);
    if (navigator.onLine) this.connectNow();
  };

  constructor(private readonly follower: Follower) {
    this.after = follower.after;
    addEventListener("online", this.onNetwork);
    addEventListener("offline", this.onNetwork);
  }

  connect(): void {
    this.tell("connecting");
    const url = new URL(this.follower.path, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    if (this.after !== undefined) url.searchParams.set("after", this.after);
    const socket = new WebSocket(url, ["muster.v1"]);
    this.socket = socket;
    socket.onopen = () => this.tell("open");
    socket.onmessage = (message) => this.take(JSON.parse(String(message.data)) as Partial<Frame>);
    socket.onclose = () => this.lost(socket);
  }

  end(): void {
    this.isOver = true;
    removeEventListener("online", this.onNetwork);
    removeEventListener("offline", this.onNetwork);
    clearTimeout(this.timer);
    this.socket?.close();
  }

  private take(frame: Partial<Frame>): void {
    if (this.isOver) return;
    this.failures = 0;
    if (frame.event === "problem") return this.refused(frame.data as { code?: string });
    if (frame.event === "end") {
      this.tell("ended");
      this.end();
      this.follower.onEnd?.();
      return;
    }
    if (frame.id && !this.follower.isFromNow) this.after = frame.id;
    if (frame.data === undefined) this.follower.onBegin?.();
    else {
      this.follower.onItem({ id: frame.id ?? null, event: frame.event ?? null, data: frame.data });
    }
  }

  private refused(problem: { code?: string }): void {
    if (problem.code === "unauthenticated") credential.refused();
    if (problem.code !== undefined && LOST_PLACE.has(problem.code)) this.startOver();
  }

  private startOver(): void {
    this.after = undefined;
    this.follower.onGap?.();
  }

  /** Nothing that it still brings is taken: the next one goes on behind what was. */
  private drop(socket: WebSocket): void {
    socket.onopen = socket.onmessage = null;
    socket.close();
    this.lost(socket);
  }

  private lost(socket: WebSocket): void {
    if (this.isOver || socket !== this.socket) return;
    this.socket = null;
    this.tell("lost");
    this.failures += 1;
    // A handshake that is refused tells a page nothing: after some, the place may be the reason.
    if (this.failures === 4 && this.after !== undefined) this.startOver();
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.failures - 1));
    // Half of it by chance: a gateway that comes back is not met by every page at once.
    this.timer = setTimeout(this.retry, longest * (0.5 + Math.random() / 2));
  }

  private connectNow(): void {
    clearTimeout(this.timer);
    const state = this.socket?.readyState;
    if (!this.isOver && state !== WebSocket.OPEN && state !== WebSocket.CONNECTING) this.connect();
  }

  private tell(connection: Connection): void {
    this.follower.onConnection?.(connection);
  }
}
