import { useQuery } from "@tanstack/react-query";
import { QueryTable } from "@/parts/QueryTable";
import { Time } from "@/parts/Time";
import { tenantsQuery } from "./data";

/** Lists the tenants of the site for operators. `muster tenant` creates and deletes them. */
export function TenantsTab() {
  const tenants = useQuery(tenantsQuery);
  return (
    <QueryTable
      query={tenants}
      items={tenants.data?.items}
      idOf={(one) => one.id}
      empty="No tenants"
      columns={[
        { header: "Name", cell: (one) => <b>{one.name}</b> },
        { header: "Created", cell: (one) => <Time at={one.created_at} /> },
      ]}
    />
  );
}
