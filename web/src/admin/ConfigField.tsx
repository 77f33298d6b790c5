import { lazy, Suspense } from "react";
import { Loading } from "@/parts/Notes";
import { completeConfig } from "@/training/completing";
import css from "./Admin.module.css";
import type { Mark } from "./mapping";

const CodeEditor = lazy(() => import("@/parts/CodeEditor"));

/** Editor for a fragment of a config in YAML, with completion and syntax errors. */
export function ConfigField({ label, text, marks, onChange }: { label: string; text: string; marks: readonly Mark[]; onChange: (text: string) => void }) {
  return (
    <div>
      <p className={css.label}>{label}</p>
      <div className={css.editor}>
        <Suspense fallback={<Loading rows={4} />}>
          <CodeEditor label={label} defaultValue={text} onChange={onChange} marks={marks} completions={completeConfig} hint="resources: …" />
        </Suspense>
      </div>
      {marks[0] && <p className={css.fault}>Line {marks[0].line}: {marks[0].message}</p>}
    </div>
  );
}
