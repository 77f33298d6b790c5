import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "@/parts/Dialog";
import { Listed } from "@/parts/Listed";
import { Section } from "@/parts/Page";
import { Time } from "@/parts/Time";
import css from "./Admin.module.css";
import { policiesQuery } from "./data";

/** Parts of configs that others build on, and what all configs are held to. They are changed by `muster template` and `muster policy`. */
export function PoliciesTab() {
  const all = useQuery(policiesQuery);
  const [shown, setShown] = useState<{ title: string; config: object } | null>(null);
  return (
    <>
      <Section title="Templates">
        <Listed
          asked={all}
          items={all.data?.templates}
          idOf={(one) => `${one.workspace ?? ""} ${one.name}`}
          empty="There is no template: muster template create"
          onOpen={(one) => setShown({ title: one.name, config: one.config })}
          columns={[
            { header: "Name", cell: (one) => <b>{one.name}</b> },
            { header: "Of", cell: (one) => one.workspace ?? "the whole tenant" },
            { header: "What it is for", cell: (one) => one.description || <span className="muted">–</span> },
            { header: "Changed", cell: (one) => <><Time at={one.changed_at} /> by {one.by}</> },
          ]}
        />
      </Section>
      <Section title="Policies">
        <Listed
          asked={all}
          items={all.data?.policies}
          idOf={(one) => one.workspace ?? ""}
          empty="Configs are held to nothing: muster policy set"
          onOpen={(one) => setShown({ title: one.workspace ?? "All workspaces", config: one.invariant_config ?? {} })}
          columns={[
            { header: "For", cell: (one) => <b>{one.workspace ?? "all workspaces"}</b> },
            { header: "Slots at most", cell: (one) => one.max_slots ?? <span className="muted">–</span>, end: true },
            { header: "Priority at most", cell: (one) => one.priority_limit ?? <span className="muted">–</span>, end: true },
            { header: "Set in every config", cell: (one) => Object.keys(one.invariant_config ?? {}).join(", ") || <span className="muted">nothing</span> },
          ]}
        />
      </Section>
      {shown && (
        <Dialog title={shown.title} wide onClose={() => setShown(null)}>
          <pre className={css.config}>{JSON.stringify(shown.config, null, 2)}</pre>
        </Dialog>
      )}
    </>
  );
}
