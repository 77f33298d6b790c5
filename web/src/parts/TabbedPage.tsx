import { Link } from "@tanstack/react-router";
import { Suspense, type ComponentType, type ReactNode } from "react";
import { Empty, Loading, Trouble } from "./Notes";
import { Page } from "./Page";
import { Tabs } from "./Tabs";

/** One part of a page that has an address for each. */
export interface Part<Props> {
  /** What its address ends with; the first part has none. */
  name: string;
  label: string;
  /** It fills the page and scrolls by itself. */
  fills?: boolean;
  body: ComponentType<Props>;
}

export interface Shown<Props> {
  title: ReactNode;
  /** What the browser's tab says. */
  name: string;
  aside?: ReactNode;
  actions?: ReactNode;
  /** Counts beside the labels of parts, by the parts' names. */
  counts?: Record<string, number>;
  /** What each part is given. */
  props: Props;
}

interface TabbedPageProps<Thing, Props extends object> {
  /** What it is and how it was asked for: `Trial 31.4`. */
  called: string;
  asked: { data: Thing | undefined; error: unknown; refetch: () => unknown };
  /** Where its first part is, as `Link` takes it; the others stand below, at `$tab`. */
  to: string;
  params: Record<string, string>;
  tab: string;
  parts: readonly Part<Props>[];
  show: (thing: Thing) => Shown<Props>;
}

/** The page of one thing in parts, with what stands there until it is known, where it is not, and where it has no such part. */
export function TabbedPage<Thing, Props extends object>({ called, asked, to, params, tab, parts, show }: TabbedPageProps<Thing, Props>) {
  const { data, error, refetch } = asked;
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
    <Page {...head} fills={part?.fills} tabs={<Tabs label={`Parts of ${called}`} tabs={tabs} />}>
      {props === undefined ? (
        <Loading rows={10} />
      ) : part ? (
        <Suspense fallback={<Loading rows={10} />}>
          <part.body {...props} />
        </Suspense>
      ) : (
        <Empty title={`There is no part "${tab}" here`}>
          <Link to={to as never} params={params as never}>
            See its first part
          </Link>
        </Empty>
      )}
    </Page>
  );
}
