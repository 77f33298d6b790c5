import { Link } from "@tanstack/react-router";
import { Suspense, type ComponentType, type ReactNode } from "react";
import { Empty, Loading, Trouble } from "./Notes";
import { Page } from "./Page";
import { Tabs } from "./Tabs";

/** A tab of a page, with its own URL. */
export interface Part<Props> {
  /** Last segment of its URL; empty for the first tab. */
  name: string;
  label: string;
  /** The tab fills the page and scrolls by itself. */
  fills?: boolean;
  body: ComponentType<Props>;
}

export interface Shown<Props> {
  title: ReactNode;
  /** Document title. */
  name: string;
  aside?: ReactNode;
  actions?: ReactNode;
  /** Counts beside the labels of tabs, by the tabs' names. */
  counts?: Record<string, number>;
  /** Props of each tab. */
  props: Props;
}

interface TabbedPageProps<Thing, Props extends object> {
  /** Title before the object is loaded, such as `Trial 31.4`. */
  called: string;
  query: { data: Thing | undefined; error: unknown; refetch: () => unknown };
  /** Route of the first tab, for `Link`; the others are below it, at `$tab`. */
  to: string;
  params: Record<string, string>;
  tab: string;
  parts: readonly Part<Props>[];
  show: (thing: Thing) => Shown<Props>;
}

/** The page of one object with tabs, and its loading, error and unknown-tab states. */
export function TabbedPage<Thing, Props extends object>({ called, query, to, params, tab, parts, show }: TabbedPageProps<Thing, Props>) {
  const { data, error, refetch } = query;
  if (error && data === undefined) {
    return (
      <Page title={called}>
        <Trouble error={error} retry={() => void refetch()} />
      </Page>
    );
  }
  const { props, counts = {}, ...head } = data === undefined ? { title: called, name: called } : show(data);
  const part = parts.find(({ name }) => name === tab);
  const tabs = parts.map(({ name, label }) => ({ label, to: name ? `${to}/$tab` : to, params: name ? { ...params, tab: name } : params, count: counts[name] }));
  return (
    <Page {...head} fills={part?.fills} tabs={<Tabs label={called} tabs={tabs} />}>
      {props === undefined ? (
        <Loading rows={10} />
      ) : part ? (
        <Suspense fallback={<Loading rows={10} />}>
          <part.body {...props} />
        </Suspense>
      ) : (
        <Empty title={`This page has no tab "${tab}"`}>
          <Link to={to as never} params={params as never}>
            Open the first tab
          </Link>
        </Empty>
      )}
    </Page>
  );
}
