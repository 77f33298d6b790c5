import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function ClusterPage() {
  return (
    <Page title="Cluster">
      <Empty icon="cluster" title="This room is being furnished" />
    </Page>
  );
}
