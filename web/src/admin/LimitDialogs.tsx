import { useState } from "react";
import { api, ask } from "@/api/client";
import type { Resource } from "@/api/types";
import { ActDialog } from "@/parts/ActDialog";
import { Choice, Field } from "@/parts/Field";
import { useMay } from "@/session/session";
import { ADMIN } from "./data";
import { readNumber, typed } from "./numbers";

interface LimitDialogProps<Thing> {
  /** The limit to change; null creates one. */
  of: Thing | null;
  onClose: () => void;
}

type Owner = { tenant: string; workspace?: string | null };

const ofOwner = (of: Owner | null) => (of === null ? "" : of.workspace ? ` of ${of.workspace}` : ` of ${of.tenant}`);

/** The workspace that a new limit applies to. Operators may leave it empty, for the whole tenant. */
function Workspace({ of, value, onChange }: { of: Owner | null; value: string; onChange: (value: string) => void }) {
  const isOperator = useMay()("cluster.manage");
  if (of) return null;
  return <Field label="Workspace" data-first required={!isOperator} value={value} hint={isOperator ? "Leave empty for your whole tenant." : undefined} onChange={(event) => onChange(event.target.value)} />;
}

/** Sets guarantee, maximum and weight of a tenant or workspace in a pool. */
export function SlotsDialog({ of, onClose }: LimitDialogProps<Resource<"Limit">>) {
  const isOperator = useMay()("cluster.manage");
  const [pool, setPool] = useState(of?.pool ?? "default");
  const [workspaceText, setWorkspaceText] = useState(of?.workspace ?? "");
  const [guaranteed, setGuaranteed] = useState(typed(of?.guaranteed ?? 0));
  const [maximum, setMaximum] = useState(typed(of?.maximum));
  const [weight, setWeight] = useState(typed(of?.weight ?? 1));
  const [guarantee, most, share] = [readNumber(guaranteed), readNumber(maximum), readNumber(weight, false)];
  const workspace = workspaceText.trim() || null;
  const act = () => {
    const body = { pool, guaranteed: guarantee ?? 0, maximum: most ?? null, weight: share ?? 1 };
    if (isOperator) return ask(api.PUT("/v1/limits", { body: { ...body, tenant: of?.tenant ?? null, workspace } }));
    return ask(api.PUT("/v1/limits/workspace", { body: { ...body, workspace: workspace ?? "" } }));
  };
  const isReady = pool !== "" && guarantee != null && most !== undefined && Boolean(share) && (isOperator || workspace !== null);
  return (
    <ActDialog title={`Slot limit${ofOwner(of)}`} verb="Save" isReady={isReady} act={act} stale={ADMIN} done="Limit saved. It applies from the next scheduling cycle." onClose={onClose}>
      <Workspace of={of} value={workspaceText} onChange={setWorkspaceText} />
      {!of && <Field label="Pool" value={pool} onChange={(event) => setPool(event.target.value)} />}
      <Field label="Guaranteed slots" inputMode="numeric" value={guaranteed} hint="Others may use idle guaranteed slots until this owner needs them." onChange={(event) => setGuaranteed(event.target.value)} />
      <Field label="Maximum slots" inputMode="numeric" value={maximum} hint="Leave empty for no limit." onChange={(event) => setMaximum(event.target.value)} />
      <Field label="Weight" inputMode="decimal" value={weight} hint="The share under fair share, relative to the other weights." onChange={(event) => setWeight(event.target.value)} />
    </ActDialog>
  );
}

/** Sets the quota of open experiments, requests per second and stored bytes. */
export function QuotaDialog({ of, onClose }: LimitDialogProps<Resource<"WorkQuota">>) {
  const isOperator = useMay()("cluster.manage");
  const [workspaceText, setWorkspaceText] = useState(of?.workspace ?? "");
  const [experiments, setExperiments] = useState(typed(of?.max_experiments));
  const [requests, setRequests] = useState(typed(of?.requests_per_s));
  const [stored, setStored] = useState(typed(of?.max_stored_bytes == null ? null : of.max_stored_bytes / 1e9));
  const [open, rate, gigabytes] = [readNumber(experiments), readNumber(requests, false), readNumber(stored, false)];
  const workspace = workspaceText.trim() || null;
  const act = () => {
    const body = { max_experiments: open ?? null, requests_per_s: rate ?? null };
    if (workspace === null) return ask(api.PUT("/v1/quotas/tenant", { body: { ...body, tenant: of?.tenant ?? null } }));
    return ask(api.PUT("/v1/quotas/workspace", { body: { ...body, workspace, max_stored_bytes: gigabytes == null ? null : Math.round(gigabytes * 1e9) } }));
  };
  const isReady = open !== undefined && rate !== undefined && gigabytes !== undefined && (isOperator || workspace !== null);
  return (
    <ActDialog title={`Work quota${ofOwner(of)}`} verb="Save" isReady={isReady} act={act} stale={ADMIN} done="Quota saved. It applies now." onClose={onClose}>
      <Workspace of={of} value={workspaceText} onChange={setWorkspaceText} />
      <Field label="Maximum open experiments" inputMode="numeric" value={experiments} hint="Leave empty for no limit. A quota without any limit is deleted." onChange={(event) => setExperiments(event.target.value)} />
      <Field label="Requests per second" inputMode="decimal" value={requests} onChange={(event) => setRequests(event.target.value)} />
      {workspace !== null && <Field label="Maximum stored data, in GB" inputMode="decimal" value={stored} onChange={(event) => setStored(event.target.value)} />}
    </ActDialog>
  );
}

/** Sets the monthly budget and what happens when it is spent. */
export function BudgetDialog({ of, onClose }: LimitDialogProps<Resource<"MonthlyBudget">>) {
  const isOperator = useMay()("cluster.manage");
  const [workspaceText, setWorkspaceText] = useState(of?.workspace ?? "");
  const [amount, setAmount] = useState(typed(of?.per_month));
  const [when, setWhen] = useState<Resource<"WhenSpent">>(of?.when_spent ?? "hold");
  const money = readNumber(amount, false);
  const workspace = workspaceText.trim() || null;
  const act = () => {
    const body = { per_month: money ?? null, when_spent: when };
    if (workspace === null) return ask(api.PUT("/v1/budgets/tenant", { body: { ...body, tenant: of?.tenant ?? null } }));
    return ask(api.PUT("/v1/budgets/workspace", { body: { ...body, workspace } }));
  };
  return (
    <ActDialog title={`Monthly budget${ofOwner(of)}`} verb="Save" isReady={money !== undefined && (isOperator || workspace !== null)} act={act} stale={ADMIN} done="Budget saved. It applies now." onClose={onClose}>
      <Workspace of={of} value={workspaceText} onChange={setWorkspaceText} />
      <Field label="Amount per month" inputMode="decimal" value={amount} hint="In the currency of the machine prices. Leave empty for no budget." onChange={(event) => setAmount(event.target.value)} />
      <Choice label="When the budget is spent" value={when} onChange={(event) => setWhen(event.target.value as Resource<"WhenSpent">)}>
        <option value="hold">hold new work</option>
        <option value="preempt">hold new work and preempt running work</option>
      </Choice>
    </ActDialog>
  );
}
