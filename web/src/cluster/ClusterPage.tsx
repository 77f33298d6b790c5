import { useParams } from "@tanstack/react-router";
import { Page } from "@/parts/Page";
import { Tabs, type Tab } from "@/parts/Tabs";
import { useMay } from "@/session/session";
import { MapTab } from "./MapTab";
import { QueueTab } from "./QueueTab";
import { Seen } from "./Seen";

const TABS: readonly (Tab & { id: string; needs?: string })[] = [
  { id: "map", label: "Map", to: "/cluster" },
  { id: "queue", label: "Queue", to: "/cluster/queue", needs: "experiment.read" },
];

export default function ClusterPage() {
  const { tab = "map" } = useParams({ strict: false });
  const may = useMay();
  const shown = TABS.filter((one) => one.needs === undefined || may(one.needs));
  const Body = tab === "queue" ? QueueTab : MapTab;
  return (
    <Page title="Cluster" fills={tab === "queue"} aside={<Seen />} tabs={<Tabs label="Parts of the cluster" tabs={shown} />}>
      <Body />
    </Page>
  );
}
