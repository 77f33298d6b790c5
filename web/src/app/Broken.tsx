import { Link } from "@tanstack/react-router";
import { Empty, Trouble } from "@/parts/Notes";
import { Page } from "@/parts/Page";

/** A page that could not be drawn: the rest of the application stands. */
export function Broken({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <Page title="Something went wrong">
      <Trouble error={error} retry={reset} title="This page could not be drawn" />
    </Page>
  );
}

export function NotFound() {
  return (
    <Page title="Not found">
      <Empty icon="search" title="There is no such page">
        <p>
          The address leads nowhere here. <Link to="/">Go to the first room</Link>
        </p>
      </Empty>
    </Page>
  );
}
