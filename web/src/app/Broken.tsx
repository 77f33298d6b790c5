import { Link } from "@tanstack/react-router";
import { Empty, Trouble } from "@/parts/Notes";
import { Page } from "@/parts/Page";

/** Shown in place of a page that failed to render; the rest of the application keeps working. */
export function Broken({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <Page title="Something went wrong">
      <Trouble error={error} retry={reset} title="This page could not be displayed" />
    </Page>
  );
}

export function NotFound() {
  return (
    <Page title="Not found">
      <Empty icon="search" title="Page not found">
        <p>
          No page has this address. <Link to="/">Go to the start page</Link>
        </p>
      </Empty>
    </Page>
  );
}
