import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function TrialPage() {
  return (
    <Page title="Trial">
      <Empty icon="experiments" title="This room is being furnished" />
    </Page>
  );
}
