import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function ExperimentPage() {
  return (
    <Page title="Experiment">
      <Empty icon="experiments" title="This room is being furnished" />
    </Page>
  );
}
