import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { stringify } from "yaml";
import { api, ask } from "@/api/client";
import { asProblem } from "@/api/problem";
import type { ExperimentDetail } from "@/api/types";
import { Button } from "@/parts/Button";
import { Select } from "@/parts/Field";
import { Complaint, Loading, Trouble } from "@/parts/Notes";
import { Page } from "@/parts/Page";
import { toast } from "@/parts/Toast";
import { CodePicker } from "./CodePicker";
import { completeConfig } from "@/training/completing";
import css from "./Create.module.css";
import { codeOfForked, isOfCode, isOnlyUnknown, markOf, STARTER, useCreate, useForked, usePlan, useSettled, type Code, type Assumptions } from "./creating";
import { PlanPanel } from "./PlanPanel";

const CodeEditor = lazy(() => import("@/parts/CodeEditor"));
const DRAFT = "muster.draft";

export default function CreatePage() {
  const { fork } = useSearch({ from: "/experiments/new" });
  const forked = useForked(fork);
  if (fork !== undefined && forked.data === undefined) {
    return (
      <Page title={`Fork experiment ${fork}`}>
        {forked.error ? <Trouble error={forked.error} retry={() => void forked.refetch()} /> : <Loading />}
      </Page>
    );
  }
  return <Create key={fork ?? ""} forked={forked.data} />;
}

function Create({ forked }: { forked: ExperimentDetail | undefined }) {
  const navigate = useNavigate();
  const [config, setConfig] = useState(() => textOf(forked));
  const [template, setTemplate] = useState<string | null>(null);
  const [code, setCode] = useState<Code | null>(() => codeOfForked(forked));
  const [assumed, setAssumed] = useState<Assumptions>({ steps: null, stepS: null });
  const settled = useSettled(config);
  const plan = usePlan(settled, template, code, useSettled(assumed));
  const problem = plan.error ? asProblem(plan.error) : null;
  const marks = useMemo(() => {
    const mark = problem && markOf(problem);
    return mark ? [mark] : [];
  }, [problem]);
  // One idempotency key per config, code and template: repeated requests create one experiment.
  const key = useMemo(() => crypto.randomUUID?.() ?? String(Math.random()), [config, code, template]);
  const create = useCreate((made) => {
    sessionStorage.removeItem(DRAFT);
    toast(`Experiment ${made.number} created`);
    void navigate({ to: "/experiments/$experiment", params: { experiment: String(made.number) } });
  });
  useEffect(() => {
    if (!forked) sessionStorage.setItem(DRAFT, config);
  }, [config, forked]);
  const isRefused = problem !== null && !isOnlyUnknown(problem) && !problem.isPassing;
  return (
    <Page
      title={forked ? `Fork of ${forked.name}` : "New experiment"}
      fills
      actions={
        <>
          <TemplateSelect value={template} onValue={setTemplate} />
          <Button kind="primary" busy={create.isPending} disabled={isRefused || config.trim() === ""} onClick={() => create.mutate({ config, template, code, forked, key })}>
            Create
          </Button>
        </>
      }
    >
      <div className={css.columns}>
        <div className={css.editor}>
          <Suspense fallback={<Loading />}>
            <CodeEditor label="Config" defaultValue={config} onChange={setConfig} marks={marks} completions={completeConfig} hint="name: …" />
          </Suspense>
        </div>
        <aside className={css.side}>
          {create.error && <Complaint error={create.error} />}
          <PlanPanel plan={plan.data} error={plan.error} isBusy={plan.isFetching || settled !== config} assumed={assumed} onAssumptions={setAssumed} />
          <CodePicker code={code} onCode={setCode} missing={problem && isOfCode(problem) ? problem : null} />
        </aside>
      </div>
    </Page>
  );
}

function TemplateSelect({ value, onValue }: { value: string | null; onValue: (value: string | null) => void }) {
  const { data } = useQuery({
    queryKey: ["templates"],
    queryFn: ({ signal }) => ask(api.GET("/v1/templates", { params: { query: { limit: 200 } }, signal })),
  });
  if (!data || data.items.length === 0) return null;
  return (
    <Select label="Template" value={value ?? ""} onChange={(event) => onValue(event.target.value || null)}>
      <option value="">No template</option>
      {data.items.map((one) => (
        <option key={one.name}>{one.name}</option>
      ))}
    </Select>
  );
}

/** Returns the initial text of the editor: the forked config, the draft before a reload, or a starter config. */
function textOf(forked: ExperimentDetail | undefined): string {
  if (forked) return forked.config_yaml ?? stringify(forked.config);
  return sessionStorage.getItem(DRAFT) ?? STARTER;
}
