/**
 * An editor of text with line numbers, completion and marks where something is wrong. It stands in a shadow root: there its styles are
 * constructed style sheets, which the page's policy leaves alone, while `<style>` elements are none of ours.
 */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { useEffect, useRef } from "react";
import css from "./CodeEditor.module.css";
import { editorLook } from "./editorLook";

export interface Mark {
  /** From 1. */
  line: number;
  column: number;
  message: string;
}

interface CodeEditorProps {
  /** What it begins with. From then on the text is the editor's own: put in anew from outside, it would undo what was typed meanwhile. */
  defaultValue: string;
  label: string;
  onChange?: (value: string) => void;
  marks?: readonly Mark[];
  completions?: CompletionSource;
  hint?: string;
}

export default function CodeEditor({ defaultValue, label, onChange, marks = [], completions, hint = "" }: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  useEffect(() => {
    if (host.current === null) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const state = EditorState.create({ doc: defaultValue, extensions: extensions(label, hint, completions, (text) => changed.current?.(text)) });
    const made = new EditorView({ state, root, parent: root });
    view.current = made;
    return () => made.destroy();
  }, [label, hint, completions]);
  useEffect(() => {
    const shown = view.current;
    if (shown !== null) shown.dispatch(setDiagnostics(shown.state, marks.map((mark) => diagnostic(shown.state, mark))));
  }, [marks]);
  return <div ref={host} className={css.editor} />;
}

function extensions(label: string, hint: string, completions: CompletionSource | undefined, onChange: (text: string) => void): Extension {
  return [
    lineNumbers(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    indentUnit.of("  "),
    yaml(),
    placeholder(hint),
    autocompletion(completions ? { override: [completions], icons: false } : {}),
    // Tab goes on to what stands behind, as everywhere: an editor that takes it lets nobody out. Ctrl+] indents.
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
    EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
    editorLook,
  ];
}

/** The mark under the word that begins there; where it points beyond the text, at its end. */
function diagnostic(state: EditorState, mark: Mark): Diagnostic {
  const line = state.doc.line(Math.max(1, Math.min(state.doc.lines, mark.line)));
  const from = Math.min(line.to, line.from + Math.max(0, mark.column - 1));
  const word = /^[^\s,:}\]]+/.exec(line.text.slice(from - line.from));
  return { from, to: Math.max(from, from + (word?.[0].length ?? 0)), severity: "error", message: mark.message };
}
