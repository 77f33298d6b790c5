/** Brings what is on the page up to what events tell. Pure but for the cache it is given. */
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import type { Experiment, ExperimentPage, LiveEvent, Trial } from "@/api/types";

/** The newest state of each entity among the events: a burst of a thousand is one look at the cache. */
export function newest(events: readonly LiveEvent[]): LiveEvent[] {
  const found = new Map<string, LiveEvent>();
  for (const event of events) {
    const known = found.get(event.entity);
    if (known === undefined || event.version >= known.version) found.set(event.entity, event);
  }
  return [...found.values()];
}

/** What cannot be patched in place and has to be asked again; each at most once for a batch. */
export interface Stale {
  lists: boolean;
  experiments: Set<string>;
  trials: Set<string>;
  models: boolean;
}

/** Patches lists and details in place, and tells what else has become stale. */
export function apply(client: QueryClient, events: readonly LiveEvent[]): Stale {
  const stale: Stale = { lists: false, experiments: new Set(), trials: new Set(), models: false };
  const experiments = new Map<string, Experiment>();
  for (const event of newest(events)) {
    if (event.experiment) stale.experiments.add(event.experiment);
    if (event.kind === "experiment") experiments.set(event.entity, event.resource as unknown as Experiment);
    else if (event.kind === "trial") patchTrial(client, event.resource as unknown as Trial, stale);
    else if (event.kind === "model" || event.kind === "version") stale.models = true;
    else if ("trial" in event.resource) stale.trials.add(String(event.resource.trial));
  }
  if (experiments.size > 0) patchExperiments(client, experiments, stale);
  return stale;
}

/** A list with the newer states in their places; the same list where none of them is in it. */
export function patchPages<Page extends ExperimentPage>(
  pages: InfiniteData<Page>,
  changed: ReadonlyMap<string, Experiment>,
  seen: Set<string>,
): InfiniteData<Page> {
  let isPatched = false;
  const patched = pages.pages.map((page) => {
    let isTouched = false;
    const items = page.items.map((item) => {
      const next = changed.get(item.id);
      if (next === undefined) return item;
      seen.add(item.id);
      if (next.version <= item.version) return item;
      isTouched = true;
      return { ...item, ...next };
    });
    if (!isTouched) return page;
    isPatched = true;
    return { ...page, items };
  });
  return isPatched ? { ...pages, pages: patched } : pages;
}

interface Asked {
  filter?: string;
  sort?: string;
}

/** True where a change may have brought one into the list, out of it or to another place. Progress alone does so only where it is sorted by. */
function mayHaveMoved(pages: InfiniteData<ExperimentPage>, changed: ReadonlyMap<string, Experiment>, asked: Asked): boolean {
  const known = new Map(pages.pages.flatMap((page) => page.items).map((item) => [item.id, item]));
  const highest = Math.max(0, ...[...known.values()].map((item) => item.number));
  return [...changed.values()].some((next) => {
    const before = known.get(next.id);
    if (before === undefined) return next.number > highest || Boolean(asked.filter);
    const isOther = before.state !== next.state || before.archived !== next.archived;
    return isOther ? Boolean(asked.filter || asked.sort) || before.archived !== next.archived : Boolean(asked.sort);
  });
}

function patchExperiments(client: QueryClient, changed: ReadonlyMap<string, Experiment>, stale: Stale): void {
  const lists = client.getQueryCache().findAll({ queryKey: keys.experimentLists });
  for (const list of lists) {
    const pages = list.state.data as InfiniteData<ExperimentPage> | undefined;
    if (pages === undefined || !Array.isArray(pages.pages)) continue;
    const seen = new Set<string>();
    if (mayHaveMoved(pages, changed, list.queryKey[1] as Asked)) stale.lists = true;
    const patched = patchPages(pages, changed, seen);
    if (patched !== pages) client.setQueryData(list.queryKey, patched);
  }
  for (const detail of client.getQueryCache().findAll({ queryKey: keys.experimentAny })) {
    if (detail.queryKey.length !== 2) continue;
    const known = detail.state.data as Experiment | undefined;
    const next = known && changed.get(known.id);
    if (next && next.version > known.version) client.setQueryData(detail.queryKey, { ...known, ...next });
  }
}

function patchTrial(client: QueryClient, trial: Trial, stale: Stale): void {
  stale.trials.add(trial.id);
  const key = keys.trial(trial.id);
  const known = client.getQueryData<Trial>(key);
  if (known !== undefined && trial.version > known.version) client.setQueryData(key, { ...known, ...trial });
}
