/** Brings what is on the page up to what events tell. Pure but for the cache it is given. */
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import type { Experiment, ExperimentPage, LiveEvent } from "@/api/types";

/** The newest state of each entity among the events: a burst of a thousand is one look at the cache. */
export function newest(events: readonly LiveEvent[]): LiveEvent[] {
  const found = new Map<string, LiveEvent>();
  for (const event of events) {
    // Labels are changed beside the experiment, which they leave at its version.
    const name = event.kind === "labels" ? `labels of ${event.entity}` : event.entity;
    const known = found.get(name);
    if (known === undefined || event.version >= known.version) found.set(name, event);
  }
  return [...found.values()];
}

/** What cannot be patched in place and has to be asked again; each at most once for a batch. */
export interface Stale {
  lists: boolean;
  /** How many experiments share what. */
  groups: boolean;
  experiments: Set<string>;
  trials: Set<string>;
  models: boolean;
}

/** What of an experiment an event tells as the page knows it; the rest of it is in the platform's own words. */
type Standing = Pick<Experiment, "id" | "version" | "number" | "state" | "reason" | "archived" | "progress" | "best" | "trials" | "started_at" | "ended_at" | "final">;

/** What a batch tells of experiments, by their ids: how they stand, and their labels, which change beside that. */
interface News {
  states: Map<string, Standing>;
  labels: Map<string, string[]>;
}

/** Patches lists and details in place, and tells what else has become stale. */
export function apply(client: QueryClient, events: readonly LiveEvent[]): Stale {
  const stale: Stale = { lists: false, groups: false, experiments: new Set(), trials: new Set(), models: false };
  const news: News = { states: new Map(), labels: new Map() };
  for (const event of newest(events)) {
    if (event.kind === "labels") {
      news.labels.set(event.entity, event.resource.labels as string[]);
      continue;
    }
    if (event.experiment) stale.experiments.add(event.experiment);
    if (event.kind === "experiment") news.states.set(event.entity, standingIn(event));
    else if (event.kind === "trial") stale.trials.add(event.entity);
    else if (event.kind === "model" || event.kind === "version") stale.models = true;
    else if ("trial_id" in event.resource) stale.trials.add(String(event.resource.trial_id));
  }
  if (news.states.size + news.labels.size > 0) patchExperiments(client, news, stale);
  return stale;
}

function standingIn({ entity: id, resource }: LiveEvent): Standing {
  const { version, number, state, reason, archived, progress, trials, started_at, ended_at, final } = resource as unknown as Standing;
  return { id, version, number, state, reason, archived, progress, best: bestIn(resource.best), trials, started_at, ended_at, final };
}

/** Null where there is none, or where its value is no finite number. */
function bestIn(told: unknown): Experiment["best"] {
  const { trial_id, ...best } = (told ?? {}) as Experiment["best"] & { trial_id?: string };
  return trial_id !== undefined && Number.isFinite(best.value) ? { ...best, trial: trial_id, checkpoint: null } : null;
}

/** The newer best; of the same step it keeps what was known of its checkpoint, of which events tell nothing. */
function bestAfter(next: Experiment["best"], before: Experiment["best"]): Experiment["best"] {
  return next && before && next.trial === before.trial && next.step === before.step ? { ...next, checkpoint: before.checkpoint } : next;
}

/** The experiment as it is by the news; the same one where they tell nothing newer of it. */
function renewed<Known extends Experiment>(known: Known, { states, labels }: News): Known {
  const state = states.get(known.id);
  const words = labels.get(known.id);
  const next = state !== undefined && state.version > known.version ? { ...known, ...state, best: bestAfter(state.best, known.best) } : known;
  return words === undefined ? next : { ...next, labels: words };
}

/** A list with the newer states in their places; the same list where none of them is in it. */
function patchPages(pages: InfiniteData<ExperimentPage>, news: News): InfiniteData<ExperimentPage> {
  const patched = pages.pages.map((page) => {
    const items = page.items.map((item) => renewed(item, news));
    return items.some((item, at) => item !== page.items[at]) ? { ...page, items } : page;
  });
  return patched.some((page, at) => page !== pages.pages[at]) ? { ...pages, pages: patched } : pages;
}

interface Asked {
  filter?: string;
  sort?: string;
  hyperparameters?: boolean;
}

/** True where a change may have brought one into the list, out of it or to another place. Progress alone does so only where it is sorted by. */
function mayHaveMoved(pages: InfiniteData<ExperimentPage>, { states, labels }: News, asked: Asked): boolean {
  if (labels.size > 0 && asked.filter) return true;
  const known = new Map(pages.pages.flatMap((page) => page.items).map((item) => [item.id, item]));
  const highest = Math.max(0, ...[...known.values()].map((item) => item.number));
  return [...states.values()].some((next) => {
    const before = known.get(next.id);
    if (before === undefined) return next.number > highest || Boolean(asked.filter);
    // The hyperparameters of another best trial are not in the event.
    if (asked.hyperparameters && before.best?.trial_number !== next.best?.trial_number) return true;
    const isOther = before.state !== next.state || before.archived !== next.archived;
    return isOther ? Boolean(asked.filter || asked.sort) || before.archived !== next.archived : Boolean(asked.sort);
  });
}

/** True where counts of those that share something may be others now; of one that no list has nobody knows what it was. */
function mayCountOtherwise(lists: readonly InfiniteData<ExperimentPage>[], { states, labels }: News): boolean {
  const known = new Map(lists.flatMap((list) => list.pages.flatMap((page) => page.items)).map((item) => [item.id, item]));
  return labels.size > 0 || [...states.values()].some((next) => next.state !== known.get(next.id)?.state || next.archived !== known.get(next.id)?.archived);
}

function patchExperiments(client: QueryClient, news: News, stale: Stale): void {
  const cached = client.getQueryCache().findAll({ queryKey: keys.experimentLists });
  const lists = cached.flatMap(({ queryKey, state }) => {
    const pages = state.data as InfiniteData<ExperimentPage> | undefined;
    return queryKey[1] !== "groups" && Array.isArray(pages?.pages) ? [{ queryKey, pages }] : [];
  });
  const isGrouped = cached.some((query) => query.queryKey[1] === "groups" && query.isActive());
  stale.groups = isGrouped && mayCountOtherwise(lists.map((list) => list.pages), news);
  for (const { queryKey, pages } of lists) {
    if (mayHaveMoved(pages, news, queryKey[1] as Asked)) stale.lists = true;
    const patched = patchPages(pages, news);
    if (patched !== pages) client.setQueryData(queryKey, patched);
  }
  for (const detail of client.getQueryCache().findAll({ queryKey: keys.experimentAny })) {
    if (detail.queryKey.length !== 2) continue;
    const known = detail.state.data as Experiment | undefined;
    const next = known && renewed(known, news);
    if (next !== known) client.setQueryData(detail.queryKey, next);
  }
}
