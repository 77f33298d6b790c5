// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { follow, type Connection } from "@/live/socket";
import { credential } from "@/api/credential";

class FakeSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static made: FakeSocket[] = [];
  readyState = 0;
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;

  constructor(
    readonly url: URL,
    readonly protocols: string[],
  ) {
    FakeSocket.made.push(this);
  }
  tell(frame: object): void {
    this.readyState = 1;
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
  close(): void {
    this.readyState = 3;
    this.onclose?.();
  }
}

const last = (): FakeSocket => FakeSocket.made.at(-1) as FakeSocket;

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.made = [];
  vi.stubGlobal("WebSocket", FakeSocket);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("resumes after the last item without loss or duplicates", () => {
  const items: unknown[] = [];
  const end = follow({ path: "/v1/events?kind=trial", onItem: (frame) => items.push(frame.data) });
  last().tell({ id: "40" });
  last().tell({ id: "41", event: "trial", data: { a: 1 } });
  last().close();
  vi.advanceTimersByTime(400);
  expect(FakeSocket.made).toHaveLength(2);
  expect(last().url.search).toBe("?kind=trial&after=41");
  last().tell({ id: "42", event: "trial", data: { a: 2 } });
  expect(items).toEqual([{ a: 1 }, { a: 2 }]);
  end();
});

it("follows the browser's offline and online events", () => {
  const items: unknown[] = [];
  const connections: Connection[] = [];
  const end = follow({ path: "/v1/events", onItem: (frame) => items.push(frame.data), onConnection: (now) => connections.push(now) });
  last().tell({ id: "41", event: "trial", data: { a: 1 } });
  const first = last();
  first.close = () => undefined;
  const isOnLine = vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
  dispatchEvent(new Event("offline"));
  expect(connections.at(-1)).toBe("lost");
  expect(first.onmessage).toBeNull();
  isOnLine.mockReturnValue(true);
  dispatchEvent(new Event("online"));
  expect(FakeSocket.made).toHaveLength(2);
  expect(last().url.search).toBe("?after=41");
  expect(items).toEqual([{ a: 1 }]);
  end();
});

it("reports a gap if its cursor has expired, and continues from now", () => {
  const gaps: number[] = [];
  const end = follow({ path: "/v1/events", onItem: () => undefined, onGap: () => gaps.push(1) });
  last().tell({ id: "41", event: "trial", data: {} });
  last().tell({ event: "problem", data: { code: "events_expired" } });
  last().close();
  vi.advanceTimersByTime(400);
  expect(gaps).toEqual([1]);
  expect(last().url.searchParams.has("after")).toBe(false);
  end();
});

it("backs off up to ten seconds and stops reconnecting when closed", () => {
  const end = follow({ path: "/v1/events", onItem: () => undefined });
  for (let at = 0; at < 12; at += 1) {
    last().close();
    vi.advanceTimersByTime(10_000);
  }
  expect(FakeSocket.made).toHaveLength(13);
  last().close();
  end();
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.made).toHaveLength(13);
});

it("ends with the stream and shows the sign-in page if the session has ended", () => {
  const said: Connection[] = [];
  const refused = vi.fn();
  const stop = credential.onRefused(refused);
  const done = vi.fn();
  follow({ path: "/v1/x", onItem: () => undefined, onConnection: (one) => said.push(one), onEnd: done });
  last().tell({ event: "end", data: {} });
  vi.advanceTimersByTime(60_000);
  expect(done).toHaveBeenCalledOnce();
  expect([said.at(-1), FakeSocket.made.length]).toEqual(["ended", 1]);
  const end = follow({ path: "/v1/x", onItem: () => undefined });
  last().tell({ event: "problem", data: { code: "unauthenticated" } });
  expect(refused).toHaveBeenCalledOnce();
  end();
  stop();
});

it("starts from now after a reconnect if the page rereads missed data", () => {
  let begun = 0;
  const end = follow({ path: "/v1/experiments/1/metrics/follow?from_now=true", isFromNow: true, onItem: () => undefined, onBegin: () => (begun += 1) });
  last().tell({ id: "40" });
  last().tell({ id: "41", data: { a: 1 } });
  last().close();
  vi.advanceTimersByTime(400);
  expect(last().url.searchParams.has("after")).toBe(false);
  last().tell({ id: "50" });
  expect(begun).toBe(2);
  end();
});
