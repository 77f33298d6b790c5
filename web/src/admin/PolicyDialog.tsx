import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Field } from "@/parts/Field";
import { ConfigField } from "./ConfigField";
import { ADMIN, type Policy } from "./data";
import { readMapping, textOf } from "./mapping";
import { readNumber, typed } from "./numbers";

/** What all configs of the tenant or of a workspace are held to: new where `policy` is null, changed, or taken away by leaving it empty. */
export function PolicyDialog({ policy, onClose }: { policy: Policy | null; onClose: () => void }) {
  const [place, setPlace] = useState(policy?.workspace ?? "");
  const [slots, setSlots] = useState(typed(policy?.max_slots));
  const [priority, setPriority] = useState(typed(policy?.priority_limit));
  const [text, setText] = useState(() => textOf(policy?.invariant_config ?? {}));
  const { value, marks } = readMapping(text);
  const [most, highest] = [readNumber(slots), readNumber(priority)];
  const body = {
    workspace: place.trim() || null,
    max_slots: most ?? null,
    priority_limit: highest ?? null,
    invariant_config: (value ?? {}) as Policy["invariant_config"],
  };
  return (
    <ActDialog
      title={policy ? `Policy for ${policy.workspace ?? "all workspaces"}` : "Set a policy"}
      verb="Save"
      wide
      isReady={value !== null && most !== undefined && highest !== undefined}
      act={() => ask(api.PUT("/v1/policies", { body }))}
      stale={ADMIN}
      said="it holds for what is submitted from now on"
      onClose={onClose}
    >
      {!policy && <Field label="Workspace" data-first value={place} hint="Empty: all workspaces." onChange={(event) => setPlace(event.target.value)} />}
      <Field label="Slots of a trial at most" inputMode="numeric" value={slots} hint="Empty: no bound. With nothing set at all the policy goes." onChange={(event) => setSlots(event.target.value)} />
      <Field label="Priority at most" inputMode="numeric" value={priority} onChange={(event) => setPriority(event.target.value)} />
      <ConfigField label="Set in every config" text={text} marks={marks} onChange={setText} />
    </ActDialog>
  );
}
