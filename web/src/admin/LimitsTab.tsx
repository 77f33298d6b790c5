import { useQuery } from "@tanstack/react-query";
import { Listed } from "@/parts/Listed";
import { Section } from "@/parts/Page";
import { formatBytes, formatMoney } from "@/parts/format";
import { limitsQuery } from "./data";

const unbounded = <span className="muted">unbounded</span>;

/** What tenant and workspaces may hold, do at once and spend. They are set by `muster limit`, `quota` and `budget`. */
export function LimitsTab() {
  const all = useQuery(limitsQuery);
  const whose = (one: { tenant: string; workspace?: string | null }) => <b>{one.workspace ?? `${one.tenant}, as a whole`}</b>;
  return (
    <>
      <Section title="Slots">
        <Listed
          asked={all}
          items={all.data?.limits}
          idOf={(one) => `${one.pool} ${one.tenant} ${one.workspace ?? ""}`}
          empty="Nothing limits the slots: muster limit set"
          columns={[
            { header: "Whose", cell: whose },
            { header: "Pool", cell: (one) => one.pool },
            { header: "Guaranteed", cell: (one) => one.guaranteed, end: true },
            { header: "At most", cell: (one) => one.maximum ?? unbounded, end: true },
            { header: "Weight", cell: (one) => one.weight, end: true },
          ]}
        />
      </Section>
      <Section title="Work at once">
        <Listed
          asked={all}
          items={all.data?.quotas}
          idOf={(one) => `${one.tenant} ${one.workspace ?? ""}`}
          empty="Nothing bounds the work: muster quota set"
          columns={[
            { header: "Whose", cell: whose },
            { header: "Open experiments", cell: (one) => one.max_experiments ?? unbounded, end: true },
            { header: "Requests a second", cell: (one) => one.requests_per_s ?? unbounded, end: true },
            { header: "Stored", cell: (one) => (one.max_stored_bytes != null ? formatBytes(one.max_stored_bytes) : unbounded), end: true },
          ]}
        />
      </Section>
      <Section title="Budgets of the month">
        <Listed
          asked={all}
          items={all.data?.budgets}
          idOf={(one) => `${one.tenant} ${one.workspace ?? ""}`}
          empty="There is no budget: muster budget set"
          columns={[
            { header: "Whose", cell: whose },
            { header: "Spent", cell: (one) => formatMoney(one.spent), end: true },
            { header: "Of", cell: (one) => (one.per_month != null ? formatMoney(one.per_month) : unbounded), end: true },
            { header: "When it is spent", cell: (one) => (one.when_spent === "preempt" ? "work saves and gives its slots back" : "nothing new begins") },
          ]}
        />
      </Section>
    </>
  );
}
