import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function ExperimentsPage() {
  return (
    <Page title="Experiments">
      <Empty icon="compare" title="This room is being furnished" />
    </Page>
  );
}
