import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, type ComponentType } from "react";
import { Empty, Loading } from "@/parts/Notes";
import { Page } from "@/parts/Page";
import { Tabs, type Tab } from "@/parts/Tabs";
import { useMay } from "@/session/session";
import { MapTab } from "./MapTab";
import { QueueTab } from "./QueueTab";
import { RefreshButton } from "./RefreshButton";

interface ClusterTab extends Tab {
  id: string;
  needs: string;
  /** The tab fills the page and scrolls by itself. */
  fills?: boolean;
  Body: ComponentType;
}

const InstancesTab = lazy(() => import("./InstancesTab"));
const UsageTab = lazy(() => import("./UsageTab"));
const CostTab = lazy(() => import("./CostTab"));

const clusterTab = (id: string, label: string, Body: ComponentType, needs: string): ClusterTab => ({ id, label, Body, needs, to: "/cluster/$tab", params: { tab: id } });

const TABS: readonly ClusterTab[] = [
  { ...clusterTab("map", "Map", MapTab, "cluster.read"), to: "/cluster", params: undefined },
  { ...clusterTab("queue", "Queue", QueueTab, "experiment.read"), fills: true },
  { ...clusterTab("machines", "Machines", InstancesTab, "cluster.read"), fills: true },
  clusterTab("usage", "Usage", UsageTab, "cluster.read"),
  clusterTab("cost", "Cost", CostTab, "cluster.manage"),
];

export default function ClusterPage() {
  const { tab = "map" } = useParams({ strict: false });
  const may = useMay();
  const visible = TABS.filter((one) => may(one.needs));
  const here = visible.find((one) => one.id === tab);
  return (
    <Page title="Cluster" fills={here?.fills} aside={<RefreshButton />} tabs={<Tabs label="Cluster" tabs={visible.map((one) => ({ ...one, isHere: one === here }))} />}>
      <Suspense fallback={<Loading rows={8} />}>{here ? <here.Body /> : <Empty icon="cluster" title="This page does not exist, or your role does not permit it" />}</Suspense>
    </Page>
  );
}
