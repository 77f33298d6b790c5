import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Choice, Field } from "@/parts/Field";
import { MODELS, type Model, type ModelVersion } from "./data";

const NONE = "";

/** Creates, moves or deletes an alias. */
export function AliasDialog({ model, versions, onClose }: { model: Model; versions: readonly ModelVersion[]; onClose: () => void }) {
  const [typed, setAlias] = useState("");
  const [version, setVersion] = useState(String(versions[0]?.number ?? NONE));
  const alias = typed.trim();
  const names = model.aliases?.[alias];
  const act = () => {
    const path = { model: model.id, alias };
    return version === NONE ? ask(api.DELETE("/v1/models/{model}/aliases/{alias}", { params: { path } })) : ask(api.PUT("/v1/models/{model}/aliases/{alias}", { params: { path }, body: { version } }));
  };
  const hint = alias === "" ? "For example production or champion." : names === undefined ? "Creates a new alias." : `Points to version ${names} now.`;
  return (
    <ActDialog title="Set an alias" verb={version === NONE ? "Delete alias" : "Save"} kind={version === NONE ? "danger" : "primary"} isReady={alias !== ""} act={act} stale={MODELS} done={version === NONE ? `Alias ${alias} deleted` : `Alias ${alias} points to version ${version}`} onClose={onClose}>
      <Field label="Alias" data-first list="aliases" value={typed} hint={hint} onChange={(event) => setAlias(event.target.value)} />
      <datalist id="aliases">{Object.keys(model.aliases ?? {}).map((one) => <option key={one} value={one} />)}</datalist>
      <Choice label="Version" value={version} hint="Clients that load the model by this alias get this version." onChange={(event) => setVersion(event.target.value)}>
        {versions.map((one) => <option key={one.id} value={one.number}>{`version ${one.number}${one.name ? ` ${one.name}` : ""}`}</option>)}
        <option value={NONE}>none (delete the alias)</option>
      </Choice>
    </ActDialog>
  );
}
