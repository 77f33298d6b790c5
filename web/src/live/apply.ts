/** Applies events to the query cache. Pure except for the cache. */
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import type { Experiment, ExperimentPage, LiveEvent } from "@/api/types";

/** Returns the newest event of each entity, so that a burst needs one pass over the cache. */
export function newest(events: readonly LiveEvent[]): LiveEvent[] {
  const found = new Map<string, LiveEvent>();
  for (const event of events) {
    // Labels change independently and do not change the version of the experiment.
    const name = event.kind === "labels" ? `labels of ${event.entity}` : event.entity;
    const known = found.get(name);
    if (known === undefined || event.version >= known.version) found.set(name, event);
  }
  return [...found.values()];
}

/** Data that cannot be patched in place and must be refetched, at most once per batch. */
export interface Stale {
  lists: boolean;
  /** Counts of grouped experiments. */
  groups: boolean;
  experiments: Set<string>;
  trials: Set<string>;
  models: boolean;
}

/** The fields of an experiment that events carry in the format of the API. */
type ExperimentStatus = Pick<Experiment, "id" | "version" | "number" | "state" | "reason" | "archived" | "progress" | "best" | "trials" | "started_at" | "ended_at" | "final">;

/** Changes of experiments in a batch, by id: status and labels. */
interface Changes {
  states: Map<string, ExperimentStatus>;
  labels: Map<string, string[]>;
}

/** Patches lists and details in place and returns what else is stale. */
export function apply(client: QueryClient, events: readonly LiveEvent[]): Stale {
  const stale: Stale = { lists: false, groups: false, experiments: new Set(), trials: new Set(), models: false };
  const changes: Changes = { states: new Map(), labels: new Map() };
  for (const event of newest(events)) {
    if (event.kind === "labels") {
      changes.labels.set(event.entity, event.resource.labels as string[]);
      continue;
    }
    if (event.experiment) stale.experiments.add(event.experiment);
    if (event.kind === "experiment") changes.states.set(event.entity, statusIn(event));
    else if (event.kind === "trial") stale.trials.add(event.entity);
    else if (event.kind === "model" || event.kind === "version") stale.models = true;
    else if ("trial_id" in event.resource) stale.trials.add(String(event.resource.trial_id));
  }
  if (changes.states.size + changes.labels.size > 0) patchExperiments(client, changes, stale);
  return stale;
}

function statusIn({ entity: id, resource }: LiveEvent): ExperimentStatus {
  const { version, number, state, reason, archived, progress, trials, started_at, ended_at, final } = resource as unknown as ExperimentStatus;
  return { id, version, number, state, reason, archived, progress, best: bestIn(resource.best), trials, started_at, ended_at, final };
}

/** Returns null if there is no best, or if its value is not finite. */
function bestIn(value: unknown): Experiment["best"] {
  const { trial_id, ...best } = (value ?? {}) as Experiment["best"] & { trial_id?: string };
  return trial_id !== undefined && Number.isFinite(best.value) ? { ...best, trial: trial_id, checkpoint: null } : null;
}

/** Returns the newer best; for the same step it keeps the checkpoint, because events do not carry it. */
function bestAfter(next: Experiment["best"], before: Experiment["best"]): Experiment["best"] {
  return next && before && next.trial === before.trial && next.step === before.step ? { ...next, checkpoint: before.checkpoint } : next;
}

/** Returns the experiment with the changes applied; the same object if none is newer. */
function renewed<Known extends Experiment>(known: Known, { states, labels }: Changes): Known {
  const state = states.get(known.id);
  const newLabels = labels.get(known.id);
  const next = state !== undefined && state.version > known.version ? { ...known, ...state, best: bestAfter(state.best, known.best) } : known;
  return newLabels === undefined ? next : { ...next, labels: newLabels };
}

/** Returns the list with newer states in place; the same list if it contains none of them. */
function patchPages(pages: InfiniteData<ExperimentPage>, changes: Changes): InfiniteData<ExperimentPage> {
  const patched = pages.pages.map((page) => {
    const items = page.items.map((item) => renewed(item, changes));
    return items.some((item, at) => item !== page.items[at]) ? { ...page, items } : page;
  });
  return patched.some((page, at) => page !== pages.pages[at]) ? { ...pages, pages: patched } : pages;
}

interface ListQuery {
  filter?: string;
  sort?: string;
  hyperparameters?: boolean;
}

/** True if a change may have added, removed or moved an item of the list. Progress does so only if the list is sorted by it. */
function mayHaveMoved(pages: InfiniteData<ExperimentPage>, { states, labels }: Changes, query: ListQuery): boolean {
  if (labels.size > 0 && query.filter) return true;
  const known = new Map(pages.pages.flatMap((page) => page.items).map((item) => [item.id, item]));
  const highest = Math.max(0, ...[...known.values()].map((item) => item.number));
  return [...states.values()].some((next) => {
    const before = known.get(next.id);
    if (before === undefined) return next.number > highest || Boolean(query.filter);
    // Events do not carry the hyperparameters of the best trial.
    if (query.hyperparameters && before.best?.trial_number !== next.best?.trial_number) return true;
    const isOther = before.state !== next.state || before.archived !== next.archived;
    return isOther ? Boolean(query.filter || query.sort) || before.archived !== next.archived : Boolean(query.sort);
  });
}

/** True if counts of groups may have changed; also for experiments that no list contains, whose previous state is unknown. */
function mayCountOtherwise(lists: readonly InfiniteData<ExperimentPage>[], { states, labels }: Changes): boolean {
  const known = new Map(lists.flatMap((list) => list.pages.flatMap((page) => page.items)).map((item) => [item.id, item]));
  return labels.size > 0 || [...states.values()].some((next) => next.state !== known.get(next.id)?.state || next.archived !== known.get(next.id)?.archived);
}

function patchExperiments(client: QueryClient, changes: Changes, stale: Stale): void {
  const cached = client.getQueryCache().findAll({ queryKey: keys.experimentLists });
  const lists = cached.flatMap(({ queryKey, state }) => {
    const pages = state.data as InfiniteData<ExperimentPage> | undefined;
    return queryKey[1] !== "groups" && Array.isArray(pages?.pages) ? [{ queryKey, pages }] : [];
  });
  const isGrouped = cached.some((query) => query.queryKey[1] === "groups" && query.isActive());
  stale.groups = isGrouped && mayCountOtherwise(lists.map((list) => list.pages), changes);
  for (const { queryKey, pages } of lists) {
    if (mayHaveMoved(pages, changes, queryKey[1] as ListQuery)) stale.lists = true;
    const patched = patchPages(pages, changes);
    if (patched !== pages) client.setQueryData(queryKey, patched);
  }
  for (const detail of client.getQueryCache().findAll({ queryKey: keys.experimentAny })) {
    if (detail.queryKey.length !== 2) continue;
    const known = detail.state.data as Experiment | undefined;
    const next = known && renewed(known, changes);
    if (next !== known) client.setQueryData(detail.queryKey, next);
  }
}
