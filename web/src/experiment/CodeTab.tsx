import { lazy } from "react";
import { Against } from "./Against";
import css from "./Experiment.module.css";
import type { TabProps } from "./tab";

const CodeBrowser = lazy(() => import("@/code/CodeBrowser"));

/** The code of the experiment, alone or compared with another experiment. */
export function CodeTab({ experiment, search, onSearch }: TabProps) {
  return (
    <>
      <div className={css.codeTools}>
        <span className="muted">{search.against ? `Changes since the code of experiment ${search.against}` : "Compare with experiment"}</span>
        <Against search={search} onSearch={onSearch} />
      </div>
      <CodeBrowser
        experiment={String(experiment.number)}
        against={search.against}
        entrypoint={String(experiment.config.entrypoint ?? "")}
        position={{ file: search.file, line: search.at }}
        onPosition={(position) => onSearch({ ...search, file: position.file, at: position.line })}
      />
    </>
  );
}
