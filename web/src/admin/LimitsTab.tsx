import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Resource } from "@/api/types";
import { Button } from "@/parts/Button";
import { formatBytes, formatMoney } from "@/parts/format";
import { QueryTable } from "@/parts/QueryTable";
import { Section } from "@/parts/Page";
import { useMay } from "@/session/session";
import { limitsQuery } from "./data";
import { BudgetDialog, QuotaDialog, SlotsDialog } from "./LimitDialogs";

const unlimited = <span className="muted">no limit</span>;

/** The open dialog; it creates a limit where `of` is null. */
type OpenDialog =
  | { kind: "slots"; of: Resource<"Limit"> | null }
  | { kind: "quota"; of: Resource<"WorkQuota"> | null }
  | { kind: "budget"; of: Resource<"MonthlyBudget"> | null };

/** Slot limits, work quotas and monthly budgets of the tenant and its workspaces. */
export function LimitsTab() {
  const may = useMay();
  const all = useQuery(limitsQuery);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const maySet = may("cluster.manage") || may("policy.manage");
  const ownerOf = (one: { tenant: string; workspace?: string | null }) => <b>{one.workspace ?? `${one.tenant} (whole tenant)`}</b>;
  const close = () => setDialog(null);
  const create = (label: string, of: OpenDialog) => maySet && <Button small icon="plus" onClick={() => setDialog(of)}>{label}</Button>;
  return (
    <>
      <Section title="Slot limits" actions={create("Add slot limit", { kind: "slots", of: null })}>
        <QueryTable
          query={all}
          items={all.data?.limits}
          idOf={(one) => `${one.pool} ${one.tenant} ${one.workspace ?? ""}`}
          empty="No slot limits yet"
          emptyText="A slot limit guarantees slots of a pool to a tenant or workspace, or caps them."
          onOpen={maySet ? (of) => setDialog({ kind: "slots", of }) : undefined}
          columns={[
            { header: "Applies to", cell: ownerOf },
            { header: "Pool", cell: (one) => one.pool },
            { header: "Guaranteed", cell: (one) => one.guaranteed, end: true },
            { header: "Maximum", cell: (one) => one.maximum ?? unlimited, end: true },
            { header: "Weight", cell: (one) => one.weight, end: true },
          ]}
        />
      </Section>
      <Section title="Work quotas" actions={create("Add quota", { kind: "quota", of: null })}>
        <QueryTable
          query={all}
          items={all.data?.quotas}
          idOf={(one) => `${one.tenant} ${one.workspace ?? ""}`}
          empty="No quotas yet"
          emptyText="A quota caps open experiments, API requests per second and stored data of a tenant or workspace."
          onOpen={maySet ? (of) => setDialog({ kind: "quota", of }) : undefined}
          columns={[
            { header: "Applies to", cell: ownerOf },
            { header: "Open experiments", cell: (one) => one.max_experiments ?? unlimited, end: true },
            { header: "Requests per second", cell: (one) => one.requests_per_s ?? unlimited, end: true },
            { header: "Stored data", cell: (one) => (one.max_stored_bytes != null ? formatBytes(one.max_stored_bytes) : unlimited), end: true },
          ]}
        />
      </Section>
      <Section title="Monthly budgets" actions={create("Add budget", { kind: "budget", of: null })}>
        <QueryTable
          query={all}
          items={all.data?.budgets}
          idOf={(one) => `${one.tenant} ${one.workspace ?? ""}`}
          empty="No budgets yet"
          emptyText="A budget caps what a tenant or workspace spends on slots per month."
          onOpen={maySet ? (of) => setDialog({ kind: "budget", of }) : undefined}
          columns={[
            { header: "Applies to", cell: ownerOf },
            { header: "Spent", cell: (one) => formatMoney(one.spent), end: true },
            { header: "Budget", cell: (one) => (one.per_month != null ? formatMoney(one.per_month) : unlimited), end: true },
            { header: "When spent", cell: (one) => (one.when_spent === "preempt" ? "hold new work, preempt running work" : "hold new work") },
          ]}
        />
      </Section>
      {dialog?.kind === "slots" && <SlotsDialog of={dialog.of} onClose={close} />}
      {dialog?.kind === "quota" && <QuotaDialog of={dialog.of} onClose={close} />}
      {dialog?.kind === "budget" && <BudgetDialog of={dialog.of} onClose={close} />}
    </>
  );
}
