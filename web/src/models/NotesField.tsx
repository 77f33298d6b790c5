import { useState } from "react";
import { TextField } from "@/parts/Field";
import { Markdown } from "@/parts/Markdown";
import { Segments } from "@/parts/Segments";
import css from "./Models.module.css";

const SIDES = [
  { value: "written", label: "Write" },
  { value: "read", label: "Preview" },
];

/** Editor for notes in Markdown with a preview. */
export function NotesField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [side, setSide] = useState("written");
  return (
    <div className={css.notes}>
      <Segments label="Notes view" value={side} options={SIDES} onChange={setSide} />
      {side === "written" ? (
        <TextField label="Notes" value={value} rows={10} hint="Markdown: headings, lists, links, code and quotes." onChange={(event) => onChange(event.target.value)} />
      ) : (
        <div className={css.read}>{value.trim() ? <Markdown text={value} /> : <span className="muted">No notes</span>}</div>
      )}
    </div>
  );
}
