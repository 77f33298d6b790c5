import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/parts/Button";
import { QueryTable } from "@/parts/QueryTable";
import { Section } from "@/parts/Page";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import { useInAddress } from "@/parts/useInAddress";
import { policiesQuery, type Policy } from "./data";
import { PolicyDialog } from "./PolicyDialog";
import { NewTemplate, TemplateDialog } from "./TemplateDialog";

/** Config templates, and policies that limit or override configs. */
export function PoliciesTab() {
  const mayManage = useMay()("policy.manage");
  const all = useQuery(policiesQuery);
  const [template, setTemplate] = useInAddress("template");
  const [isNew, setNew] = useState(false);
  const [policy, setPolicy] = useState<Policy | "new" | null>(null);
  return (
    <>
      <Section title="Templates" actions={mayManage && <Button small icon="plus" onClick={() => setNew(true)}>Create template</Button>}>
        <QueryTable
          query={all}
          items={all.data?.templates}
          idOf={(one) => `${one.workspace ?? ""} ${one.name}`}
          empty="No templates yet"
          emptyText="A template is part of a config that experiments can build on."
          emptyAction={mayManage && <Button kind="primary" icon="plus" onClick={() => setNew(true)}>Create template</Button>}
          onOpen={(one) => setTemplate(one.name)}
          columns={[
            { header: "Name", cell: (one) => <b>{one.name}</b> },
            { header: "Workspace", cell: (one) => one.workspace ?? "all workspaces" },
            { header: "Description", cell: (one) => one.description || <span className="muted">–</span> },
            { header: "Changed", cell: (one) => <><Time at={one.changed_at} /> by {one.by}</> },
          ]}
        />
      </Section>
      <Section title="Policies" actions={mayManage && <Button small icon="plus" onClick={() => setPolicy("new")}>Create policy</Button>}>
        <QueryTable
          query={all}
          items={all.data?.policies}
          idOf={(one) => one.workspace ?? ""}
          empty="No policies yet"
          emptyText="A policy limits or overrides what experiment configs may request."
          emptyAction={mayManage && <Button kind="primary" icon="plus" onClick={() => setPolicy("new")}>Create policy</Button>}
          onOpen={mayManage ? setPolicy : undefined}
          columns={[
            { header: "Workspace", cell: (one) => <b>{one.workspace ?? "all workspaces"}</b> },
            { header: "Max. slots", cell: (one) => one.max_slots ?? <span className="muted">–</span>, end: true },
            { header: "Priority limit", cell: (one) => one.priority_limit ?? <span className="muted">–</span>, end: true },
            { header: "Enforced keys", cell: (one) => Object.keys(one.invariant_config ?? {}).join(", ") || <span className="muted">none</span> },
          ]}
        />
      </Section>
      {isNew && <NewTemplate onClose={() => setNew(false)} />}
      {template !== null && <TemplateDialog name={template} onClose={() => setTemplate(null)} />}
      {policy && <PolicyDialog policy={policy === "new" ? null : policy} onClose={() => setPolicy(null)} />}
    </>
  );
}
