import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { DataTable } from "@/parts/table/DataTable";
import type { Column } from "@/parts/table/props";
import { formatMoney } from "@/parts/format";
import { Empty, Loading, Trouble } from "@/parts/Notes";
import { Segments } from "@/parts/Segments";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { InstanceDialog } from "./InstanceDialog";
import { useInAddress } from "@/parts/useInAddress";
import css from "./Instances.module.css";
import { instancesQuery, type Instance } from "./data";
import { useMachineEvents } from "./useMachineEvents";

const COLUMNS: readonly Column<Instance>[] = [
  { id: "worker", header: "Machine", width: 150, cell: (one) => <b>{one.worker}</b> },
  { id: "state", header: "State", width: 105, cell: (one) => <State quiet state={one.state} /> },
  { id: "kind", header: "Kind", width: 130, cell: (one) => one.kind || one.driver },
  { id: "zone", header: "Zone", width: 105, cell: (one) => one.zone ?? <span className="muted">–</span> },
  { id: "purchase", header: "Purchase", width: 95, cell: (one) => rentedAs(one) },
  { id: "pool", header: "Pool", width: 90, cell: (one) => one.pool },
  { id: "slots", header: "Slots", width: 60, end: true, cell: (one) => <span className="number">{one.slots}</span> },
  { id: "price", header: "Per hour", width: 85, end: true, cell: (one) => <span className="number">{formatMoney(one.price_per_hour)}</span> },
  { id: "cost", header: "Cost so far", width: 95, end: true, cell: (one) => <span className="number">{formatMoney(one.cost)}</span> },
  { id: "since", header: "Since", width: 85, cell: (one) => <Time at={one.since ?? one.launched_at} /> },
];

/** Rented machines with kind, zone and cost; each can be drained or terminated. */
export default function InstancesTab() {
  const { ended = false } = useSearch({ from: "/cluster/$tab" });
  const navigate = useNavigate();
  const instances = useQuery(instancesQuery(ended));
  useMachineEvents();
  const [opened, setOpened] = useInAddress("opened");
  const selected = instances.data?.items.find((one) => one.id === opened);
  return (
    <>
      <div className={css.bar}>
        <Segments
          label="Machines"
          value={ended ? "all" : "current"}
          options={[{ value: "current", label: "Current" }, { value: "all", label: "All" }]}
          onChange={(next) => void navigate({ to: ".", search: (before: object) => ({ ...before, ended: next === "all" || undefined }), replace: true })}
        />
      </div>
      {instances.error ? (
        <Trouble error={instances.error} retry={() => void instances.refetch()} />
      ) : instances.data === undefined ? (
        <Loading rows={6} />
      ) : (
        <DataTable
          label="machines"
          items={instances.data.items}
          columns={COLUMNS}
          idOf={(one) => one.id}
          onOpen={(one) => setOpened(one.id)}
          card={(one) => (
            <span className={css.card}>
              <span className={css.line}><b>{one.worker}</b><State quiet state={one.state} /></span>
              <span className="muted">{[one.kind || one.driver, one.zone, rentedAs(one)].filter(Boolean).join(" · ")}</span>
              <span className="number">{formatMoney(one.price_per_hour)} per hour, {formatMoney(one.cost)} so far</span>
            </span>
          )}
          empty={<Empty icon="cluster" title={ended ? "No machines were rented yet" : "No machines rented"}>A pool of rented machines rents when trials wait and returns idle machines. Create one with <code>muster pool create</code>.</Empty>}
        />
      )}
      {selected && <InstanceDialog instance={selected} onClose={() => setOpened(null)} />}
    </>
  );
}

function rentedAs(one: Instance): string {
  return one.purchase.replace("_", " ");
}
