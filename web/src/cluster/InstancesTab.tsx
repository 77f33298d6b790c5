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
import { useMachineNews } from "./useMachineNews";

const COLUMNS: readonly Column<Instance>[] = [
  { id: "worker", header: "Machine", width: 150, cell: (one) => <b>{one.worker}</b> },
  { id: "state", header: "State", width: 105, cell: (one) => <State quiet state={one.state} /> },
  { id: "kind", header: "Kind", width: 130, cell: (one) => one.kind || one.driver },
  { id: "zone", header: "Zone", width: 105, cell: (one) => one.zone ?? <span className="muted">–</span> },
  { id: "purchase", header: "Rented", width: 95, cell: (one) => rentedAs(one) },
  { id: "pool", header: "Pool", width: 90, cell: (one) => one.pool },
  { id: "slots", header: "Slots", width: 60, end: true, cell: (one) => <span className="number">{one.slots}</span> },
  { id: "price", header: "An hour", width: 85, end: true, cell: (one) => <span className="number">{formatMoney(one.price_per_hour)}</span> },
  { id: "cost", header: "So far", width: 95, end: true, cell: (one) => <span className="number">{formatMoney(one.cost)}</span> },
  { id: "since", header: "Since", width: 85, cell: (one) => <Time at={one.since ?? one.launched_at} /> },
];

/** The machines that were rented or started: where, how and for what; one can be drained or ended. */
export default function InstancesTab() {
  const { gone = false } = useSearch({ from: "/cluster/$tab" });
  const navigate = useNavigate();
  const instances = useQuery(instancesQuery(gone));
  useMachineNews();
  const [opened, setOpened] = useInAddress("opened");
  const shown = instances.data?.items.find((one) => one.id === opened);
  return (
    <>
      <div className={css.bar}>
        <Segments
          label="Which machines"
          value={gone ? "all" : "standing"}
          options={[{ value: "standing", label: "Those that stand" }, { value: "all", label: "All" }]}
          onChange={(next) => void navigate({ to: ".", search: (before: object) => ({ ...before, gone: next === "all" || undefined }), replace: true })}
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
              <span className="number">{formatMoney(one.price_per_hour)} an hour, {formatMoney(one.cost)} so far</span>
            </span>
          )}
          empty={<Empty icon="cluster" title={gone ? "No machine was rented yet" : "No rented machine stands now"}>They come when there is work, and go when it is done.</Empty>}
        />
      )}
      {shown && <InstanceDialog instance={shown} onClose={() => setOpened(null)} />}
    </>
  );
}

function rentedAs(one: Instance): string {
  return one.purchase.replace("_", " ");
}
