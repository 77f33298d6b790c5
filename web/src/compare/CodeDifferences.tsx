import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { ExperimentDetail } from "@/api/types";
import { Select } from "@/parts/Field";
import { Loading } from "@/parts/Notes";
import { Card, Section } from "@/parts/Page";
import css from "./Compare.module.css";
import type { CompareSearch } from "./search";

const CodeBrowser = lazy(() => import("@/code/CodeBrowser"));

/** Differences between the code of two experiments; nothing if all ran the same code. */
export function CodeDifferences({ experiments }: { experiments: readonly ExperimentDetail[] }) {
  const [first] = experiments;
  const search = useSearch({ from: "/compare" });
  const navigate = useNavigate();
  const keep = (part: Pick<CompareSearch, "code" | "file" | "at">) => void navigate({ to: "/compare", search: { ...search, ...part }, replace: true });
  const others = experiments.filter(({ code_sha256 }) => code_sha256 !== first?.code_sha256);
  const other = others.find(({ number }) => String(number) === search.code) ?? others[0];
  if (first === undefined || other === undefined) return null;
  const choose = (code: string) => keep({ code, file: undefined, at: undefined });
  const pick = (
    <Select label="Other experiment" value={other.number} onChange={(event) => choose(event.target.value)}>
      {others.map(({ number }) => (
        <option key={number} value={number}>
          experiment {number}
        </option>
      ))}
    </Select>
  );
  return (
    <Section title={`Code changes from experiment ${first.number} to ${other.number}`} actions={others.length > 1 ? pick : undefined}>
      <Card className={css.code}>
        <Suspense fallback={<Loading rows={8} />}>
          <CodeBrowser key={other.number} experiment={String(other.number)} against={String(first.number)} entrypoint={String(other.config.entrypoint ?? "")} position={{ file: search.file, line: search.at }} onPosition={({ file, line }) => keep({ file, at: line })} />
        </Suspense>
      </Card>
    </Section>
  );
}
