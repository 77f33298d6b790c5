import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function ModelPage() {
  return (
    <Page title="Model">
      <Empty icon="models" title="This room is being furnished" />
    </Page>
  );
}
