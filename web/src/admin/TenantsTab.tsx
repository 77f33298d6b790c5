import { useQuery } from "@tanstack/react-query";
import { Listed } from "@/parts/Listed";
import { Time } from "@/parts/Time";
import { tenantsQuery } from "./data";

/** The tenants of the site, for who keeps it. They are made and deleted by `muster tenant`. */
export function TenantsTab() {
  const tenants = useQuery(tenantsQuery);
  return (
    <Listed
      asked={tenants}
      items={tenants.data?.items}
      idOf={(one) => one.id}
      empty="There is no tenant"
      columns={[
        { header: "Name", cell: (one) => <b>{one.name}</b> },
        { header: "Made", cell: (one) => <Time at={one.created_at} /> },
      ]}
    />
  );
}
