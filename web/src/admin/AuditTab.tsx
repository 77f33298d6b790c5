import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Field } from "@/parts/Field";
import { Listed } from "@/parts/Listed";
import { Complaint } from "@/parts/Notes";
import { formatMoment } from "@/parts/format";
import { Time } from "@/parts/Time";
import { useInAddress } from "@/parts/useInAddress";
import css from "./Admin.module.css";
import { auditQuery } from "./data";

/** Who did what, or was refused it: the newest two hundred that a filter meets. `muster audit export` has all of it. */
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
        <Button kind="quiet" icon="refresh" onClick={() => void records.refetch()}>Look again</Button>
      </form>
      {records.error && records.data && <Complaint error={records.error} />}
      <Listed
        asked={records.data ? { ...records, error: null } : records}
        items={records.data?.items}
        idOf={(one) => one.id}
        empty="None meets this filter"
        onOpen={(one) => setRecord(one.id)}
        columns={[
          { header: "When", cell: (one) => <Time at={one.at} /> },
          { header: "Who", cell: (one) => <b>{one.actor ?? "unknown token"}</b> },
          { header: "What", cell: (one) => one.operation ?? "–" },
          { header: "On", cell: (one) => one.entity ?? <span className="muted">–</span> },
          { header: "Outcome", cell: (one) => (one.outcome === "denied" ? <span className={css.denied}>denied{(one.count ?? 1) > 1 && ` × ${one.count}`}</span> : "allowed") },
          { header: "From", cell: (one) => <span className="muted">{one.address ?? "–"}</span> },
        ]}
      />
      {opened && (
        <Dialog title={`Record ${opened.sequence}`} wide onClose={() => setRecord(null)}>
          <p className="muted">{formatMoment(new Date(opened.at))}</p>
          <pre className={css.config}>{JSON.stringify(opened, null, 2)}</pre>
        </Dialog>
      )}
    </>
  );
}
