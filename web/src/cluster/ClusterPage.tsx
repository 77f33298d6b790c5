import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, type ComponentType } from "react";
import { Empty, Loading } from "@/parts/Notes";
import { Page } from "@/parts/Page";
import { Tabs, type Tab } from "@/parts/Tabs";
import { useMay } from "@/session/session";
import { MapTab } from "./MapTab";
import { QueueTab } from "./QueueTab";
import { Seen } from "./Seen";

interface Part extends Tab {
  id: string;
  needs: string;
  /** It scrolls by itself. */
  fills?: boolean;
  Body: ComponentType;
}

const InstancesTab = lazy(() => import("./InstancesTab"));
const UsageTab = lazy(() => import("./UsageTab"));
const CostTab = lazy(() => import("./CostTab"));

const part = (id: string, label: string, Body: ComponentType, needs: string): Part => ({ id, label, Body, needs, to: "/cluster/$tab", params: { tab: id } });

const PARTS: readonly Part[] = [
  { ...part("map", "Map", MapTab, "cluster.read"), to: "/cluster", params: undefined },
  { ...part("queue", "Queue", QueueTab, "experiment.read"), fills: true },
  { ...part("machines", "Machines", InstancesTab, "cluster.read"), fills: true },
  part("usage", "Usage", UsageTab, "cluster.read"),
  part("cost", "Cost", CostTab, "cluster.manage"),
];

export default function ClusterPage() {
  const { tab = "map" } = useParams({ strict: false });
  const may = useMay();
  const shown = PARTS.filter((one) => may(one.needs));
  const here = shown.find((one) => one.id === tab);
  return (
    <Page title="Cluster" fills={here?.fills} aside={<Seen />} tabs={<Tabs label="Parts of the cluster" tabs={shown.map((one) => ({ ...one, isHere: one === here }))} />}>
      <Suspense fallback={<Loading rows={8} />}>{here ? <here.Body /> : <Empty icon="cluster" title="There is nothing here for your role" />}</Suspense>
    </Page>
  );
}
