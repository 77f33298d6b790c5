import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field } from "@/parts/Field";
import { QueryTable } from "@/parts/QueryTable";
import { Complaint } from "@/parts/Notes";
import { formatMoment } from "@/parts/format";
import { Time } from "@/parts/Time";
import { useInAddress } from "@/parts/useInAddress";
import css from "./Admin.module.css";
import { auditQuery } from "./data";

/** The newest 200 audit records that match the filter. `muster audit export` returns all of them. */
export function AuditTab() {
  const [filter, setFilter] = useInAddress("filter");
  const [text, setText] = useState(filter ?? "");
  const [record, setRecord] = useInAddress("record");
  const records = useQuery({ ...auditQuery(filter ?? ""), placeholderData: keepPreviousData });
  const opened = records.data?.items.find((one) => one.id === record);
  return (
    <>
      <form
        className={css.tools}
        onSubmit={(event) => {
          event.preventDefault();
          setFilter(text.trim() || null);
        }}
      >
        <Field label="Filter" value={text} placeholder='outcome = denied and actor = "ada"' spellCheck={false} onChange={(event) => setText(event.target.value)} />
        <Button type="submit" icon="filter">Filter</Button>
        <Button kind="quiet" icon="refresh" onClick={() => void records.refetch()}>Refresh</Button>
      </form>
      {records.error && records.data && <Complaint error={records.error} />}
      <QueryTable
        query={records.data ? { ...records, error: null } : records}
        items={records.data?.items}
        idOf={(one) => one.id}
        empty="No audit records match this filter"
        emptyText="The audit log records every change and every denied request with its user, time and address."
        onOpen={(one) => setRecord(one.id)}
        columns={[
          { header: "Time", cell: (one) => <Time at={one.at} /> },
          { header: "User", cell: (one) => <b>{one.actor ?? "unknown token"}</b> },
          { header: "Operation", cell: (one) => one.operation ?? "–" },
          { header: "Object", cell: (one) => one.entity ?? <span className="muted">–</span> },
          { header: "Outcome", cell: (one) => (one.outcome === "denied" ? <span className={css.denied}>denied{(one.count ?? 1) > 1 && ` × ${one.count}`}</span> : "allowed") },
          { header: "Address", cell: (one) => <span className="muted">{one.address ?? "–"}</span> },
        ]}
      />
      {opened && (
        <Dialog title={`Audit record ${opened.sequence}`} wide onClose={() => setRecord(null)}>
          <p className="muted">{formatMoment(new Date(opened.at))}</p>
          <pre className={css.config}>{JSON.stringify(opened, null, 2)}</pre>
        </Dialog>
      )}
    </>
  );
}
