import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function ModelsPage() {
  return (
    <Page title="Models">
      <Empty icon="models" title="This room is being furnished" />
    </Page>
  );
}
