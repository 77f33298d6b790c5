import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function CreatePage() {
  return (
    <Page title="Create">
      <Empty icon="compare" title="This room is being furnished" />
    </Page>
  );
}
