import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Field } from "@/parts/Field";
import { ConfigField } from "./ConfigField";
import { ADMIN, type Policy } from "./data";
import { readMapping, textOf } from "./mapping";
import { readNumber, typed } from "./numbers";

/** Creates, changes or deletes the policy of the tenant or a workspace. An empty policy is deleted. */
export function PolicyDialog({ policy, onClose }: { policy: Policy | null; onClose: () => void }) {
  const [workspace, setWorkspace] = useState(policy?.workspace ?? "");
  const [slots, setSlots] = useState(typed(policy?.max_slots));
  const [priority, setPriority] = useState(typed(policy?.priority_limit));
  const [text, setText] = useState(() => textOf(policy?.invariant_config ?? {}));
  const { value, marks } = readMapping(text);
  const [most, highest] = [readNumber(slots), readNumber(priority)];
  const body = {
    workspace: workspace.trim() || null,
    max_slots: most ?? null,
    priority_limit: highest ?? null,
    invariant_config: (value ?? {}) as Policy["invariant_config"],
  };
  return (
    <ActDialog
      title={policy ? `Policy for ${policy.workspace ?? "all workspaces"}` : "Create a policy"}
      verb="Save"
      wide
      isReady={value !== null && most !== undefined && highest !== undefined}
      act={() => ask(api.PUT("/v1/policies", { body }))}
      stale={ADMIN}
      done="Policy saved. It applies to new submissions."
      onClose={onClose}
    >
      {!policy && <Field label="Workspace" data-first value={workspace} hint="Leave empty for all workspaces." onChange={(event) => setWorkspace(event.target.value)} />}
      <Field label="Maximum slots per trial" inputMode="numeric" value={slots} hint="Leave empty for no limit. A policy without any setting is deleted." onChange={(event) => setSlots(event.target.value)} />
      <Field label="Priority limit" inputMode="numeric" value={priority} onChange={(event) => setPriority(event.target.value)} />
      <ConfigField label="Enforced in every config" text={text} marks={marks} onChange={setText} />
    </ActDialog>
  );
}
