import { useRef, useState, type DragEvent } from "react";
import { Button, IconButton } from "@/parts/Button";
import { counted, formatBytes } from "@/parts/format";
import { Icon } from "@/parts/Icon";
import { Complaint } from "@/parts/Notes";
import css from "./Create.module.css";
import { pack, sourcesOf, type Packed } from "./pack";

interface CodePickerProps {
  code: Packed | null;
  onCode: (code: Packed | null) => void;
  /** Whose code is taken where none is chosen. */
  forked: number | undefined;
}

/** The folder of the model code: packed here, and sent when the experiment is created. */
export function CodePicker({ code, onCode, forked }: CodePickerProps) {
  const input = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const take = async (files: Iterable<File>) => {
    setBusy(true);
    setError(null);
    try {
      onCode(await pack(await sourcesOf(files)));
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    if (event.dataTransfer.files.length > 0) void take(event.dataTransfer.files);
  };
  return (
    <section className={css.card} aria-label="Code" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <header className={css.cardHead}>
        <h2>Code</h2>
        {code && <IconButton icon="close" label="Take another folder" onClick={() => onCode(null)} />}
      </header>
      {code ? (
        <details className={css.files}>
          <summary>
            <Icon name="file" size={15} /> {counted(code.files.length, "file")}, {formatBytes(code.bytes)}
          </summary>
          <ul>
            {code.files.slice(0, 200).map((name) => (
              <li key={name} className="mono">
                {name}
              </li>
            ))}
          </ul>
        </details>
      ) : (
        <div className={css.pick}>
          <p className={css.note}>{forked ? `The code of experiment ${forked}, unless you choose another folder.` : "The folder that holds your script. What .musterignore names stays here."}</p>
          <Button icon="upload" busy={isBusy} onClick={() => input.current?.click()}>
            Choose a folder
          </Button>
        </div>
      )}
      {error !== null && <Complaint error={error} />}
      <input
        ref={input}
        type="file"
        hidden
        multiple
        aria-label="Folder of the model code"
        {...{ webkitdirectory: "" }}
        onChange={(event) => {
          void take(event.target.files ?? []);
        }}
      />
    </section>
  );
}
