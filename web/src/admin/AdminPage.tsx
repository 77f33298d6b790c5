import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";

export default function AdminPage() {
  return (
    <Page title="Administration">
      <Empty icon="admin" title="This room is being furnished" />
    </Page>
  );
}
