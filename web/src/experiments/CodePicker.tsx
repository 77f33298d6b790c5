import { useQuery } from "@tanstack/react-query";
import { useRef, useState, type DragEvent, type FormEvent } from "react";
import { api, ask } from "@/api/client";
import { Problem } from "@/api/problem";
import { codeQuery } from "@/code/queries";
import { Button, IconButton } from "@/parts/Button";
import { counted, formatBytes } from "@/parts/format";
import { Icon } from "@/parts/Icon";
import { Complaint } from "@/parts/Notes";
import css from "./Create.module.css";
import type { Code } from "./creating";
import { filesOfDrop } from "./dropping";
import { filesOf, pack, sourcesOf, type Packed, type SourceFile } from "./pack";

interface CodePickerProps {
  code: Code | null;
  onCode: (code: Code | null) => void;
  /** Reports that the code lacks the script of the entrypoint. */
  missing: Problem | null;
}

/** Chooses the model code: a folder or files, packed in the browser and uploaded when the experiment is created, or the code of another experiment. */
export function CodePicker({ code, onCode, missing }: CodePickerProps) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<Code>) => {
    setBusy(true);
    setError(null);
    try {
      onCode(await work());
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  const take = (files: readonly SourceFile[] | Promise<SourceFile[]>) => void attempt(async () => ({ packed: await pack(await sourcesOf(await files)) }));
  const drop = (event: DragEvent) => {
    event.preventDefault();
    if (event.dataTransfer.files.length > 0) take(filesOfDrop(event.dataTransfer));
  };
  return (
    <section className={css.card} aria-label="Code" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <header className={css.cardHead}>
        <h2>Code</h2>
        {code && <IconButton icon="close" label="Choose other code" onClick={() => onCode(null)} />}
      </header>
      {missing && (
        <div role="alert" className={css.lacking}>
          <p>{missing.message}.</p>
          <p>{code ? "Choose the folder that contains it, or correct the entrypoint." : "Choose its folder, or use the code of another experiment."}</p>
        </div>
      )}
      {code === null ? <Pick isBusy={isBusy} onFiles={(files) => take(filesOf(files))} onExperiment={(number) => void attempt(() => codeOf(number))} /> : "packed" in code ? <PackedCode packed={code.packed} /> : <StoredCode experiment={code.experiment} />}
      {error !== null && <Complaint error={error} />}
    </section>
  );
}

interface PickProps {
  isBusy: boolean;
  onFiles: (files: Iterable<File>) => void;
  onExperiment: (number: string) => void;
}

function Pick({ isBusy, onFiles, onExperiment }: PickProps) {
  const folder = useRef<HTMLInputElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const use = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const number = String(new FormData(event.currentTarget).get("experiment") ?? "").trim();
    if (number !== "") onExperiment(number);
  };
  return (
    <div className={css.pick}>
      <p className={css.note}>Choose the folder or files of your script. Version control, likely secrets such as .env, and files that .musterignore or .gitignore exclude are not uploaded.</p>
      <div className={css.ways}>
        <Button icon="upload" busy={isBusy} onClick={() => folder.current?.click()}>
          Choose a folder
        </Button>
        <Button icon="file" busy={isBusy} onClick={() => files.current?.click()}>
          Choose files
        </Button>
      </div>
      <form className={css.ways} onSubmit={use}>
        <label>
          Code of experiment
          <input name="experiment" inputMode="numeric" pattern="[0-9]*" placeholder="number" autoComplete="off" />
        </label>
        <Button type="submit" busy={isBusy}>
          Use code
        </Button>
      </form>
      <input ref={folder} type="file" hidden multiple aria-label="Folder of the model code" {...{ webkitdirectory: "" }} onChange={(event) => onFiles(event.target.files ?? [])} />
      <input ref={files} type="file" hidden multiple aria-label="Files of the model code" onChange={(event) => onFiles(event.target.files ?? [])} />
    </div>
  );
}

function PackedCode({ packed }: { packed: Packed }) {
  const secrets = packed.leftOut.filter(({ reason }) => reason === "secret").map(({ path }) => path);
  const ignored = packed.leftOut.filter(({ reason }) => reason === "file").map(({ path }) => path);
  return (
    <>
      <Files names={packed.files} bytes={packed.bytes} />
      {secrets.length > 0 && <p className={css.lacking}>Not uploaded (version control or likely secrets): {listed(secrets)}. To include a file, add <code>!{secrets[0]}</code> to .musterignore. Once that file exists, .gitignore no longer applies: copy its patterns.</p>}
      {ignored.length > 0 && <p className={css.note}>Not uploaded (ignore file): {listed(ignored)}.</p>}
    </>
  );
}

function StoredCode({ experiment }: { experiment: number }) {
  const { data, error } = useQuery(codeQuery(String(experiment)));
  return (
    <>
      <p className={css.note}>Code of experiment {experiment}</p>
      {data && <Files names={data.files.map(({ path }) => path)} bytes={data.unpacked_bytes} />}
      {error && <Complaint error={error} />}
    </>
  );
}

function Files({ names, bytes }: { names: readonly string[]; bytes: number }) {
  return (
    <details className={css.files}>
      <summary>
        <Icon name="file" size={15} /> {counted(names.length, "file")}, {formatBytes(bytes)}
      </summary>
      <ul>
        {names.slice(0, 200).map((name) => (
          <li key={name} className="mono">
            {name}
          </li>
        ))}
      </ul>
    </details>
  );
}

const MAX_NAMES = 6;

function listed(names: readonly string[]): string {
  return names.slice(0, MAX_NAMES).join(", ") + (names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "");
}

/** Returns the code of another experiment. Raises Problem if it has none. */
async function codeOf(number: string): Promise<Code> {
  const found = await ask(api.GET("/v1/experiments/{experiment}", { params: { path: { experiment: number } } }));
  if (!found.code_sha256) throw new Problem({ status: 422, code: "code_missing", detail: `Experiment ${number} has no code`, hint: "choose another experiment or a folder" });
  return { experiment: found.number, sha256: found.code_sha256 };
}
