import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/parts/Button";
import { Listed } from "@/parts/Listed";
import { Section } from "@/parts/Page";
import { Time } from "@/parts/Time";
import { useMay } from "@/session/session";
import { useInAddress } from "@/parts/useInAddress";
import { policiesQuery, type Policy } from "./data";
import { PolicyDialog } from "./PolicyDialog";
import { NewTemplate, TemplateDialog } from "./TemplateDialog";

/** Parts of configs that others build on, and what all configs are held to. */
export function PoliciesTab() {
  const mayManage = useMay()("policy.manage");
  const all = useQuery(policiesQuery);
  const [template, setTemplate] = useInAddress("template");
  const [isNew, setNew] = useState(false);
  const [policy, setPolicy] = useState<Policy | "new" | null>(null);
  return (
    <>
      <Section title="Templates" actions={mayManage && <Button small icon="plus" onClick={() => setNew(true)}>Make one</Button>}>
        <Listed
          asked={all}
          items={all.data?.templates}
          idOf={(one) => `${one.workspace ?? ""} ${one.name}`}
          empty="There is no template"
          onOpen={(one) => setTemplate(one.name)}
          columns={[
            { header: "Name", cell: (one) => <b>{one.name}</b> },
            { header: "Of", cell: (one) => one.workspace ?? "the whole tenant" },
            { header: "What it is for", cell: (one) => one.description || <span className="muted">–</span> },
            { header: "Changed", cell: (one) => <><Time at={one.changed_at} /> by {one.by}</> },
          ]}
        />
      </Section>
      <Section title="Policies" actions={mayManage && <Button small icon="plus" onClick={() => setPolicy("new")}>Set one</Button>}>
        <Listed
          asked={all}
          items={all.data?.policies}
          idOf={(one) => one.workspace ?? ""}
          empty="Configs are held to nothing"
          onOpen={mayManage ? setPolicy : undefined}
          columns={[
            { header: "For", cell: (one) => <b>{one.workspace ?? "all workspaces"}</b> },
            { header: "Slots at most", cell: (one) => one.max_slots ?? <span className="muted">–</span>, end: true },
            { header: "Priority at most", cell: (one) => one.priority_limit ?? <span className="muted">–</span>, end: true },
            { header: "Set in every config", cell: (one) => Object.keys(one.invariant_config ?? {}).join(", ") || <span className="muted">nothing</span> },
          ]}
        />
      </Section>
      {isNew && <NewTemplate onClose={() => setNew(false)} />}
      {template !== null && <TemplateDialog name={template} onClose={() => setTemplate(null)} />}
      {policy && <PolicyDialog policy={policy === "new" ? null : policy} onClose={() => setPolicy(null)} />}
    </>
  );
}
