/**
 * Follows a stream of the gateway over a WebSocket: each item once and in order, across lost connections and restarts of the gateway.
 * A WebSocket rather than server-sent events, because browsers allow six open requests per host: a seventh tab would wait forever.
 */
import { credential } from "@/api/credential";

export interface Frame {
  id: string | null;
  event: string | null;
  data: unknown;
}

export type Connection = "connecting" | "open" | "lost" | "ended";

export interface Follower {
  /** Path and query of a streaming operation, such as `/v1/events`. */
  path: string;
  after?: string;
  /** After a reconnect, continue from now on; the caller rereads what it missed when `onBegin` is called. */
  isFromNow?: boolean;
  /** Called when the stream starts, and again after each reconnect. */
  onBegin?: () => void;
  onItem: (frame: Frame) => void;
  onConnection?: (connection: Connection) => void;
  /** Called when missed items are no longer stored: reread everything. The stream continues from now. */
  onGap?: () => void;
  /** Called when the stream has ended. */
  onEnd?: () => void;
}

const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 10_000;
const INVALID_CURSOR = new Set(["events_expired", "cursor_invalid"]);

/** Starts following and returns a function that stops. */
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
  /** A dead connection may look open for minutes, and a pending one may never open, so the browser's online event restarts it. */
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
    if (problem.code !== undefined && INVALID_CURSOR.has(problem.code)) this.startOver();
  }

  private startOver(): void {
    this.after = undefined;
    this.follower.onGap?.();
  }

  /** Ignores further items of the old socket: the next one continues after the last item. */
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
    // Browsers do not report why a handshake failed: after several, the cursor may be the reason.
    if (this.failures === 4 && this.after !== undefined) this.startOver();
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.failures - 1));
    // Half of the delay is random, so that pages do not all reconnect at once.
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
