import { useQuery } from "@tanstack/react-query";
import { Listed } from "@/parts/Listed";
import { Section } from "@/parts/Page";
import { Time } from "@/parts/Time";
import css from "./Admin.module.css";
import { bindingsQuery, rolesQuery } from "./data";

/** What roles let do, and who was given which where. They are given and taken by `muster role`. */
export function RolesTab() {
  const roles = useQuery(rolesQuery);
  const bindings = useQuery(bindingsQuery);
  return (
    <>
      <Section title="Given">
        <Listed
          asked={bindings}
          items={bindings.data?.items}
          idOf={(one) => one.id}
          empty="Nobody was given a role: muster role give"
          columns={[
            { header: "To", cell: (one) => <b>{one.user ?? `group ${one.group ?? ""}`}</b> },
            { header: "Role", cell: (one) => one.role },
            { header: "On", cell: (one) => [one.workspace, one.project].filter(Boolean).join(" / ") || "the whole tenant" },
            { header: "By", cell: (one) => one.by },
            { header: "Since", cell: (one) => <Time at={one.created_at} /> },
          ]}
        />
      </Section>
      <Section title="Roles">
        <Listed
          asked={roles}
          items={roles.data?.items}
          idOf={(one) => one.name}
          empty="There is no role"
          columns={[
            { header: "Role", cell: (one) => <b>{one.name}</b> },
            { header: "For", cell: (one) => one.description },
            { header: "May", cell: (one) => <span className={css.permissions}>{one.permissions.filter((name) => name !== "self").map((name) => <code key={name}>{name}</code>)}</span> },
          ]}
        />
      </Section>
    </>
  );
}
