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
  /** What the entrypoint needs and the code lacks. */
  missing: Problem | null;
}

/** The model code: a folder or files, packed here and sent when the experiment is created, or that of an earlier experiment. */
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
        {code && <IconButton icon="close" label="Take other code" onClick={() => onCode(null)} />}
      </header>
      {missing && (
        <div role="alert" className={css.lacking}>
          <p>{missing.message}.</p>
          <p>{code ? "Choose the folder that holds it, or correct the entrypoint." : "Choose its folder, or take the code of an experiment."}</p>
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
      <p className={css.note}>The folder or files of your script. Version control, likely secrets such as .env, and what .musterignore or .gitignore names are not sent.</p>
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
          Use it
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
      {secrets.length > 0 && <p className={css.lacking}>Not sent, as version control or likely secrets: {listed(secrets)}. A line such as !{secrets[0]} in .musterignore, which replaces .gitignore, takes one in.</p>}
      {ignored.length > 0 && <p className={css.note}>Not sent, by an ignore file: {listed(ignored)}.</p>}
    </>
  );
}

function StoredCode({ experiment }: { experiment: number }) {
  const { data, error } = useQuery(codeQuery(String(experiment)));
  return (
    <>
      <p className={css.note}>The code of experiment {experiment}.</p>
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

const SHOWN = 6;

function listed(names: readonly string[]): string {
  return names.slice(0, SHOWN).join(", ") + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "");
}

/** The code of an earlier experiment. Raises Problem where it has none. */
async function codeOf(number: string): Promise<Code> {
  const found = await ask(api.GET("/v1/experiments/{experiment}", { params: { path: { experiment: number } } }));
  if (!found.code_sha256) throw new Problem({ status: 422, code: "code_missing", detail: `experiment ${number} runs without code of its own`, hint: "take another experiment, or choose a folder" });
  return { experiment: found.number, sha256: found.code_sha256 };
}
