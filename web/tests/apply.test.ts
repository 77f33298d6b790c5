import { QueryClient, QueryObserver, type InfiniteData } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { keys } from "@/api/keys";
import type { Experiment, ExperimentPage, LiveEvent } from "@/api/types";
import { apply, newest } from "@/live/apply";

const LIST = keys.experiments({ filter: "" });

function experiment(id: string, version: number, progress = 0): Experiment {
  return { id, number: Number(id), name: id, version, progress, state: "active" } as Experiment;
}

/** Events in the searcher's format: the best trial under another name, without unknown fields. */
function event({ id, best, ...told }: Experiment): LiveEvent {
  const { trial, ...rest } = best ?? {};
  const resource = { ...told, experiment_id: id, priority: null, best: best && { ...rest, trial_id: trial } };
  return { id: "1", kind: "experiment", entity: id, experiment: id, version: told.version, resource } as unknown as LiveEvent;
}

function best(trial_number: number): Experiment["best"] {
  return { trial: `trial ${trial_number}`, trial_number, step: 10, value: 0.5, others: {}, checkpoint: null };
}

function listing(client: QueryClient, ...items: Experiment[]): void {
  listingAs(client, LIST, ...items);
}

function listingAs(client: QueryClient, key: readonly unknown[], ...items: Experiment[]): void {
  client.setQueryData<InfiniteData<ExperimentPage>>(key, { pages: [{ items, next_cursor: null }], pageParams: [null] });
}

function shown(client: QueryClient): Experiment[] {
  return client.getQueryData<InfiniteData<ExperimentPage>>(LIST)?.pages.flatMap((page) => page.items) ?? [];
}

it("patches the newest state of each experiment in place", () => {
  const client = new QueryClient();
  listing(client, experiment("2", 4), experiment("1", 7));
  const stale = apply(client, [event(experiment("1", 8, 0.5)), event(experiment("1", 9, 0.75))]);
  expect(shown(client).map((one) => [one.id, one.progress])).toEqual([
    ["2", 0],
    ["1", 0.75],
  ]);
  expect(stale.lists).toBe(false);
});

it("ignores older states in any order of events", () => {
  const client = new QueryClient();
  listing(client, experiment("1", 9, 0.9));
  client.setQueryData(keys.experiment(1), experiment("1", 9, 0.9));
  const before = shown(client)[0];
  apply(client, [event(experiment("1", 3, 0.1))]);
  expect(shown(client)[0]).toBe(before);
  expect(client.getQueryData<Experiment>(keys.experiment(1))?.progress).toBe(0.9);
  expect(newest([event(experiment("1", 5)), event(experiment("1", 2))]).map((one) => one.version)).toEqual([5]);
});

it("refetches lists that may lack an experiment, and its other data", () => {
  const client = new QueryClient();
  listing(client, experiment("1", 1));
  const stale = apply(client, [event(experiment("3", 1))]);
  expect(stale.lists).toBe(true);
  expect([...stale.experiments]).toEqual(["3"]);
});

it("does not refetch lists for progress alone", () => {
  const client = new QueryClient();
  listing(client, experiment("9", 1), experiment("8", 1));
  expect(apply(client, [event(experiment("9", 2, 0.2)), event(experiment("3", 40, 0.6))]).lists).toBe(false);
});

it("refetches filtered lists after a change of state, and lists sorted by a changing field", () => {
  const client = new QueryClient();
  listingAs(client, keys.experiments({ filter: "state = active" }), experiment("1", 1));
  expect(apply(client, [event({ ...experiment("1", 2), state: "completed" })]).lists).toBe(true);
  const other = new QueryClient();
  listingAs(other, keys.experiments({ sort: "-progress" }), experiment("1", 1));
  expect(apply(other, [event(experiment("1", 2, 0.3))]).lists).toBe(true);
});

it("patches a detail without losing what events do not carry", () => {
  const client = new QueryClient();
  client.setQueryData(keys.experiment(1), { ...experiment("1", 1), config: { name: "x" }, priority: 7 });
  apply(client, [event({ ...experiment("1", 2, 0.4), best: best(3) })]);
  expect(client.getQueryData(keys.experiment(1))).toMatchObject({ config: { name: "x" }, progress: 0.4, priority: 7, best: best(3) });
  const checkpoint = { id: "c1", state: "abandoned" as const, reason: null };
  client.setQueryData(keys.experiment(1), (known: object) => ({ ...known, best: { ...best(3), checkpoint } }));
  apply(client, [event({ ...experiment("1", 3, 0.5), best: best(3) })]);
  expect(client.getQueryData(keys.experiment(1))).toMatchObject({ progress: 0.5, best: { checkpoint } });
});

it("refetches a trial after a change of it, its run or its checkpoint", () => {
  const told = (kind: string, entity: string, resource: object) => ({ id: "1", kind, entity, experiment: "1", version: 1, resource }) as unknown as LiveEvent;
  const stale = apply(new QueryClient(), [told("trial", "t1", { trial_id: "t1" }), told("run", "r1", { run_id: "r1", trial_id: "t2" })]);
  expect([...stale.trials]).toEqual(["t1", "t2"]);
});

it("applies label events independently of other changes", () => {
  const client = new QueryClient();
  listing(client, { ...experiment("1", 5), labels: ["old"] });
  client.setQueryData(keys.experiment(1), { ...experiment("1", 5), labels: ["old"] });
  const labels = { id: "2", kind: "labels", entity: "1", experiment: "1", version: 5, resource: { labels: ["new"] } } as unknown as LiveEvent;
  const stale = apply(client, [labels, event(experiment("1", 6, 0.5))]);
  expect(shown(client)[0]).toMatchObject({ labels: ["new"], progress: 0.5 });
  expect(client.getQueryData(keys.experiment(1))).toMatchObject({ labels: ["new"], progress: 0.5 });
  expect(stale.lists).toBe(false);
  listingAs(client, keys.experiments({ filter: "labels contains new" }));
  expect(apply(client, [labels]).lists).toBe(true);
});

it("refetches hyperparameters when the best trial changes", () => {
  const client = new QueryClient();
  listingAs(client, keys.experiments({ filter: "", hyperparameters: true }), { ...experiment("1", 1), best: best(3) });
  expect(apply(client, [event({ ...experiment("1", 2), best: best(3) })]).lists).toBe(false);
  expect(apply(client, [event({ ...experiment("1", 3), best: best(4) })]).lists).toBe(true);
});

it("refetches visible group counts when an experiment may have changed groups", () => {
  const client = new QueryClient();
  listing(client, experiment("1", 1));
  const groups = new QueryObserver(client, { queryKey: keys.experimentGroups({ by: "state" }), queryFn: () => ({ pages: [{ items: [] }] }) });
  const ended = event({ ...experiment("1", 2), state: "completed" });
  expect(apply(client, [ended]).groups).toBe(false);
  const leave = groups.subscribe(() => undefined);
  expect(apply(client, [event({ ...experiment("1", 3), state: "completed", progress: 0.5 })]).groups).toBe(false);
  expect(apply(client, [event(experiment("1", 4))]).groups).toBe(true);
  expect(apply(client, [event(experiment("7", 1))]).groups).toBe(true);
  leave();
});
