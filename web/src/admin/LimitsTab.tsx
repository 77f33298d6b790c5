import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Resource } from "@/api/types";
import { Button } from "@/parts/Button";
import { formatBytes, formatMoney } from "@/parts/format";
import { Listed } from "@/parts/Listed";
import { Section } from "@/parts/Page";
import { useMay } from "@/session/session";
import { limitsQuery } from "./data";
import { BudgetDialog, QuotaDialog, SlotsDialog } from "./LimitDialogs";

const unbounded = <span className="muted">unbounded</span>;

/** What is being set: a new one where `of` is null. */
type Set =
  | { kind: "slots"; of: Resource<"Limit"> | null }
  | { kind: "quota"; of: Resource<"WorkQuota"> | null }
  | { kind: "budget"; of: Resource<"MonthlyBudget"> | null };

/** What tenant and workspaces may hold, do at once and spend. */
export function LimitsTab() {
  const may = useMay();
  const all = useQuery(limitsQuery);
  const [set, setSet] = useState<Set | null>(null);
  const maySet = may("cluster.manage") || may("policy.manage");
  const whose = (one: { tenant: string; workspace?: string | null }) => <b>{one.workspace ?? `${one.tenant}, as a whole`}</b>;
  const close = () => setSet(null);
  const begin = (of: Set) => maySet && <Button small icon="plus" onClick={() => setSet(of)}>Set one</Button>;
  return (
    <>
      <Section title="Slots" actions={begin({ kind: "slots", of: null })}>
        <Listed
          asked={all}
          items={all.data?.limits}
          idOf={(one) => `${one.pool} ${one.tenant} ${one.workspace ?? ""}`}
          empty="Nothing limits the slots"
          onOpen={maySet ? (of) => setSet({ kind: "slots", of }) : undefined}
          columns={[
            { header: "Whose", cell: whose },
            { header: "Pool", cell: (one) => one.pool },
            { header: "Guaranteed", cell: (one) => one.guaranteed, end: true },
            { header: "At most", cell: (one) => one.maximum ?? unbounded, end: true },
            { header: "Weight", cell: (one) => one.weight, end: true },
          ]}
        />
      </Section>
      <Section title="Work at once" actions={begin({ kind: "quota", of: null })}>
        <Listed
          asked={all}
          items={all.data?.quotas}
          idOf={(one) => `${one.tenant} ${one.workspace ?? ""}`}
          empty="Nothing bounds the work"
          onOpen={maySet ? (of) => setSet({ kind: "quota", of }) : undefined}
          columns={[
            { header: "Whose", cell: whose },
            { header: "Open experiments", cell: (one) => one.max_experiments ?? unbounded, end: true },
            { header: "Requests a second", cell: (one) => one.requests_per_s ?? unbounded, end: true },
            { header: "Stored", cell: (one) => (one.max_stored_bytes != null ? formatBytes(one.max_stored_bytes) : unbounded), end: true },
          ]}
        />
      </Section>
      <Section title="Budgets of the month" actions={begin({ kind: "budget", of: null })}>
        <Listed
          asked={all}
          items={all.data?.budgets}
          idOf={(one) => `${one.tenant} ${one.workspace ?? ""}`}
          empty="There is no budget"
          onOpen={maySet ? (of) => setSet({ kind: "budget", of }) : undefined}
          columns={[
            { header: "Whose", cell: whose },
            { header: "Spent", cell: (one) => formatMoney(one.spent), end: true },
            { header: "Of", cell: (one) => (one.per_month != null ? formatMoney(one.per_month) : unbounded), end: true },
            { header: "When it is spent", cell: (one) => (one.when_spent === "preempt" ? "work saves and gives its slots back" : "nothing new begins") },
          ]}
        />
      </Section>
      {set?.kind === "slots" && <SlotsDialog of={set.of} onClose={close} />}
      {set?.kind === "quota" && <QuotaDialog of={set.of} onClose={close} />}
      {set?.kind === "budget" && <BudgetDialog of={set.of} onClose={close} />}
    </>
  );
}
