import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function VersionPage() {
  return (
    <Page title="Version">
      <Empty icon="models" title="This room is being furnished" />
    </Page>
  );
}
