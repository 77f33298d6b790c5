/**
 * A text editor with line numbers, completion and error marks. It is in a shadow root, where its styles are constructed style sheets, which the
 * content security policy permits, unlike `<style>` elements.
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
  /** Initial text. The editor is uncontrolled, because setting the text from outside would undo concurrent input. */
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
    const current = view.current;
    if (current !== null) current.dispatch(setDiagnostics(current.state, marks.map((mark) => diagnostic(current.state, mark))));
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
    // Tab moves the focus, so that keyboard users can leave the editor. Ctrl+] indents.
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
    EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
    editorLook,
  ];
}

/** Converts a mark to a diagnostic of the word at its position; at the end of the text if it points beyond. */
function diagnostic(state: EditorState, mark: Mark): Diagnostic {
  const line = state.doc.line(Math.max(1, Math.min(state.doc.lines, mark.line)));
  const from = Math.min(line.to, line.from + Math.max(0, mark.column - 1));
  const word = /^[^\s,:}\]]+/.exec(line.text.slice(from - line.from));
  return { from, to: Math.max(from, from + (word?.[0].length ?? 0)), severity: "error", message: mark.message };
}
