import { describe, expect, it } from "vitest";
import type { QueueEntry, Worker } from "@/cluster/data";
import { passes, planMove } from "@/cluster/priority";
import { readClusterSearch } from "@/cluster/search";
import { cellsOf, coloursOf, countCells, heldBy, isolationOf } from "@/cluster/slots";
import { soon } from "@/cluster/Starts";
import { stepped } from "@/cluster/useMoving";

function entry(experiment: number, trial: number, more: Partial<QueueEntry> = {}): QueueEntry {
  const ids = { experiment: `e${experiment}`, experiment_number: experiment, trial: `${experiment}.${trial}`, trial_number: trial };
  return { ...ids, pool: "default", priority: 42, slots: 1, state: "waiting", since: "2026-11-22T12:00:00Z", held: [], ...more } as QueueEntry;
}

function worker(more: Partial<Worker>): Worker {
  return { id: "a", pool: "default", state: "ready", slots: 4, used_slots: 0, isolated_user: true, last_heartbeat_at: "", labels: {}, disabled_slots: [], ...more } as Worker;
}

describe("the map", () => {
  it("shows own, other, free and disabled slots", () => {
    const running = [entry(3, 1, { held: [{ worker: "a", slots: [1] }] }), entry(3, 2, { held: [{ worker: "a", slots: [1] }, { worker: "b", slots: [0] }] })];
    const cells = cellsOf(worker({ used_slots: 2, disabled_slots: [3] }), heldBy(running).get("a"));
    expect(cells.map((cell) => cell.kind)).toEqual(["other", "own", "free", "off"]);
    expect(cells[1]?.owners.map((one) => one.trial)).toEqual(["3.1", "3.2"]);
    expect(countCells(cells)).toEqual({ own: 1, other: 1, free: 1, off: 1 });
  });

  it("shows a disabled slot in use as in use", () => {
    const cells = cellsOf(worker({ slots: 1, used_slots: 1, disabled_slots: [0] }), heldBy([entry(3, 1, { held: [{ worker: "a", slots: [0] }] })]).get("a"));
    expect(cells).toMatchObject([{ kind: "own", isDisabled: true }]);
  });

  it("keeps an experiment's colour while it runs and assigns the least used one next", () => {
    const first = coloursOf([entry(5, 1), entry(7, 1)]);
    expect([...first]).toEqual([[5, 1], [7, 2]]);
    const next = coloursOf([entry(4, 1), entry(7, 1)], first);
    expect(next.get(7)).toBe(2);
    expect(next.get(4)).toBe(1);
    const nine = coloursOf(Array.from({ length: 9 }, (_, at) => entry(at + 1, 1)));
    expect(new Set([...nine.values()].slice(0, 8)).size).toBe(8);
    expect(nine.get(9)).toBe(1);
  });
});

describe("a machine's isolation", () => {
  it("says whether runs have a network boundary", () => {
    const detail = "each run has its own user and namespaces; no network boundary: runs use the machine's network, because this worker lacks CAP_NET_ADMIN";
    expect(isolationOf(worker({ isolation: "sandbox", isolation_detail: detail }))).toBe(`sandbox: ${detail}`);
    expect(isolationOf(worker({}))).toBe("not reported yet");
  });
});

describe("a move in the queue", () => {
  const queue = [entry(1, 1, { priority: 10 }), entry(2, 1, { priority: 20 }), entry(3, 1, { priority: 30 }), entry(3, 2, { priority: 30 }), entry(4, 1, { priority: 30 })];

  it("uses the priority next to that of the last passed trial", () => {
    expect(planMove(queue, 4, 1)).toEqual({ experiment: 4, from: 30, to: 19 });
    expect(planMove(queue, 0, 2)).toEqual({ experiment: 1, from: 10, to: 21 });
    expect(planMove(queue, 1, 5)).toEqual({ experiment: 2, from: 20, to: 31 });
  });

  it("is null if it passes only trials of its experiment, or none", () => {
    expect(planMove(queue, 3, 2)).toBeNull();
    expect(planMove(queue, 2, 2)).toBeNull();
    expect(planMove(queue, 2, 3)).toBeNull();
    expect(planMove(queue, 9, 0)).toBeNull();
  });

  it("stays within 1 to 99", () => {
    const ends = [entry(1, 1, { priority: 1 }), entry(2, 1, { priority: 1 }), entry(3, 1, { priority: 99 }), entry(4, 1, { priority: 99 })];
    expect(planMove(ends, 1, 0)).toBeNull();
    expect(planMove(ends, 2, 4)).toBeNull();
    expect(planMove(ends, 3, 0)).toEqual({ experiment: 4, from: 99, to: 1 });
  });

  it("counts the passed trials of other experiments", () => {
    expect(passes(queue, { experiment: 4, from: 30, to: 15 })).toBe(1);
    expect(passes(queue, { experiment: 1, from: 10, to: 31 })).toBe(4);
  });

  it("skips its own position with the keyboard", () => {
    expect(stepped(2, 2, 1, 5)).toBe(4);
    expect(stepped(4, 2, -1, 5)).toBe(2);
    expect(stepped(2, 2, -1, 5)).toBe(1);
    expect(stepped(0, 2, -1, 5)).toBe(0);
    expect(stepped(5, 2, 1, 5)).toBe(5);
  });
});

describe("an expected start", () => {
  const now = new Date("2026-11-22T12:00:00Z");
  const later = (seconds: number) => new Date(now.getTime() + 1000 * seconds);
  it.each([
    [-20, "any moment"],
    [42, "in ~40 s"],
    [200, "in ~3 min"],
    [8000, "in ~2 h 10 min"],
  ])("%i s ahead is %s", (seconds, said) => expect(soon(later(seconds), now)).toBe(said));
});

it("reads only valid values from a URL", () => {
  expect(readClusterSearch({ trial: "a-b", pool: "", days: "x", by: 4 })).toEqual({ pool: undefined, trial: "a-b", by: undefined, days: undefined });
  expect(readClusterSearch({ days: 30, by: "user" })).toMatchObject({ by: "user", days: 30 });
});
