import { useState } from "react";
import { api, ask } from "@/api/client";
import type { Resource } from "@/api/types";
import { ActDialog } from "@/parts/ActDialog";
import { Choice, Field } from "@/parts/Field";
import { useMay } from "@/session/session";
import { ADMIN } from "./data";
import { readNumber, typed } from "./numbers";

interface Bound<Thing> {
  /** What is bounded already; null for a new one. */
  of: Thing | null;
  onClose: () => void;
}

type Whose = { tenant: string; workspace?: string | null };

const whole = (of: Whose | null) => (of === null ? "" : of.workspace ? ` of ${of.workspace}` : ` of ${of.tenant}`);

/** Whose it is: a workspace, or the tenant as a whole for who keeps the site. */
function Workspace({ of, value, onChange }: { of: Whose | null; value: string; onChange: (value: string) => void }) {
  const keepsSite = useMay()("cluster.manage");
  if (of) return null;
  return <Field label="Workspace" data-first required={!keepsSite} value={value} hint={keepsSite ? "Empty: your tenant as a whole." : undefined} onChange={(event) => onChange(event.target.value)} />;
}

/** How many slots of a pool a tenant or workspace is sure of, and may hold at most. */
export function SlotsDialog({ of, onClose }: Bound<Resource<"Limit">>) {
  const keepsSite = useMay()("cluster.manage");
  const [pool, setPool] = useState(of?.pool ?? "default");
  const [place, setPlace] = useState(of?.workspace ?? "");
  const [guaranteed, setGuaranteed] = useState(typed(of?.guaranteed ?? 0));
  const [maximum, setMaximum] = useState(typed(of?.maximum));
  const [weight, setWeight] = useState(typed(of?.weight ?? 1));
  const [sure, most, share] = [readNumber(guaranteed), readNumber(maximum), readNumber(weight, false)];
  const workspace = place.trim() || null;
  const act = () => {
    const body = { pool, guaranteed: sure ?? 0, maximum: most ?? null, weight: share ?? 1 };
    if (keepsSite) return ask(api.PUT("/v1/limits", { body: { ...body, tenant: of?.tenant ?? null, workspace } }));
    return ask(api.PUT("/v1/limits/workspace", { body: { ...body, workspace: workspace ?? "" } }));
  };
  const isReady = pool !== "" && sure != null && most !== undefined && Boolean(share) && (keepsSite || workspace !== null);
  return (
    <ActDialog title={`Slots${whole(of)}`} verb="Set it" isReady={isReady} act={act} stale={ADMIN} said="the limit counts from the next turn of the scheduler" onClose={onClose}>
      <Workspace of={of} value={place} onChange={setPlace} />
      {!of && <Field label="Pool" value={pool} onChange={(event) => setPool(event.target.value)} />}
      <Field label="Guaranteed slots" inputMode="numeric" value={guaranteed} hint="Others give them back when they are needed." onChange={(event) => setGuaranteed(event.target.value)} />
      <Field label="Slots at most" inputMode="numeric" value={maximum} hint="Empty: no bound." onChange={(event) => setMaximum(event.target.value)} />
      <Field label="Weight" inputMode="decimal" value={weight} hint="Its part of what is shared, beside the others' weights." onChange={(event) => setWeight(event.target.value)} />
    </ActDialog>
  );
}

/** How much may be open, asked and stored at once. */
export function QuotaDialog({ of, onClose }: Bound<Resource<"WorkQuota">>) {
  const keepsSite = useMay()("cluster.manage");
  const [place, setPlace] = useState(of?.workspace ?? "");
  const [experiments, setExperiments] = useState(typed(of?.max_experiments));
  const [requests, setRequests] = useState(typed(of?.requests_per_s));
  const [stored, setStored] = useState(typed(of?.max_stored_bytes == null ? null : of.max_stored_bytes / 1e9));
  const [open, rate, gigabytes] = [readNumber(experiments), readNumber(requests, false), readNumber(stored, false)];
  const workspace = place.trim() || null;
  const act = () => {
    const body = { max_experiments: open ?? null, requests_per_s: rate ?? null };
    if (workspace === null) return ask(api.PUT("/v1/quotas/tenant", { body: { ...body, tenant: of?.tenant ?? null } }));
    return ask(api.PUT("/v1/quotas/workspace", { body: { ...body, workspace, max_stored_bytes: gigabytes == null ? null : Math.round(gigabytes * 1e9) } }));
  };
  const isReady = open !== undefined && rate !== undefined && gigabytes !== undefined && (keepsSite || workspace !== null);
  return (
    <ActDialog title={`Work at once${whole(of)}`} verb="Set it" isReady={isReady} act={act} stale={ADMIN} said="the quota counts now" onClose={onClose}>
      <Workspace of={of} value={place} onChange={setPlace} />
      <Field label="Open experiments at most" inputMode="numeric" value={experiments} hint="Empty: no bound; the quota goes with its last bound." onChange={(event) => setExperiments(event.target.value)} />
      <Field label="Requests a second" inputMode="decimal" value={requests} onChange={(event) => setRequests(event.target.value)} />
      {workspace !== null && <Field label="Stored, in GB" inputMode="decimal" value={stored} onChange={(event) => setStored(event.target.value)} />}
    </ActDialog>
  );
}

/** What may be spent in a month, and what happens then. */
export function BudgetDialog({ of, onClose }: Bound<Resource<"MonthlyBudget">>) {
  const keepsSite = useMay()("cluster.manage");
  const [place, setPlace] = useState(of?.workspace ?? "");
  const [amount, setAmount] = useState(typed(of?.per_month));
  const [when, setWhen] = useState<Resource<"WhenSpent">>(of?.when_spent ?? "hold");
  const money = readNumber(amount, false);
  const workspace = place.trim() || null;
  const act = () => {
    const body = { per_month: money ?? null, when_spent: when };
    if (workspace === null) return ask(api.PUT("/v1/budgets/tenant", { body: { ...body, tenant: of?.tenant ?? null } }));
    return ask(api.PUT("/v1/budgets/workspace", { body: { ...body, workspace } }));
  };
  return (
    <ActDialog title={`Budget of the month${whole(of)}`} verb="Set it" isReady={money !== undefined && (keepsSite || workspace !== null)} act={act} stale={ADMIN} said="the budget counts now" onClose={onClose}>
      <Workspace of={of} value={place} onChange={setPlace} />
      <Field label="A month" inputMode="decimal" value={amount} hint="In the currency of the prices. Empty: no budget." onChange={(event) => setAmount(event.target.value)} />
      <Choice label="When it is spent" value={when} onChange={(event) => setWhen(event.target.value as Resource<"WhenSpent">)}>
        <option value="hold">nothing new begins</option>
        <option value="preempt">work saves and gives its slots back</option>
      </Choice>
    </ActDialog>
  );
}
