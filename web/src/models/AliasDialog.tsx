import { useState } from "react";
import { api, ask } from "@/api/client";
import { ActDialog } from "@/parts/ActDialog";
import { Choice, Field } from "@/parts/Field";
import { MODELS, type Model, type ModelVersion } from "./data";

const NONE = "";

/** Has an alias name a version, a new one or one that moves, or no version any more. */
export function AliasDialog({ model, versions, onClose }: { model: Model; versions: readonly ModelVersion[]; onClose: () => void }) {
  const [typed, setAlias] = useState("");
  const [version, setVersion] = useState(String(versions[0]?.number ?? NONE));
  const alias = typed.trim();
  const names = model.aliases?.[alias];
  const act = () => {
    const path = { model: model.id, alias };
    return version === NONE ? ask(api.DELETE("/v1/models/{model}/aliases/{alias}", { params: { path } })) : ask(api.PUT("/v1/models/{model}/aliases/{alias}", { params: { path }, body: { version } }));
  };
  const hint = alias === "" ? "Such as production or champion." : names === undefined ? "It is new." : `It names version ${names} now.`;
  return (
    <ActDialog title="Set an alias" verb={version === NONE ? "Take it away" : "Set it"} kind={version === NONE ? "danger" : "primary"} isReady={alias !== ""} act={act} stale={MODELS} said={version === NONE ? `${alias} names nothing` : `${alias} names version ${version}`} onClose={onClose}>
      <Field label="Alias" data-first list="aliases" value={typed} hint={hint} onChange={(event) => setAlias(event.target.value)} />
      <datalist id="aliases">{Object.keys(model.aliases ?? {}).map((one) => <option key={one} value={one} />)}</datalist>
      <Choice label="Names" value={version} hint="Who follows the alias gets it from then on." onChange={(event) => setVersion(event.target.value)}>
        {versions.map((one) => <option key={one.id} value={one.number}>{`version ${one.number}${one.name ? ` ${one.name}` : ""}`}</option>)}
        <option value={NONE}>no version any more</option>
      </Choice>
    </ActDialog>
  );
}
