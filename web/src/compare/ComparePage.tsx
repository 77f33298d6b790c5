import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function ComparePage() {
  return (
    <Page title="Compare">
      <Empty icon="compare" title="This room is being furnished" />
    </Page>
  );
}
