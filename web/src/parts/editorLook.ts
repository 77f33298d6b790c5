import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Theme of the editor from the design tokens, which are visible in its shadow root. */
export const editorLook = [
  EditorView.theme({
    "&": { height: "100%", fontSize: "13px", color: "var(--ink)", backgroundColor: "var(--surface)" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.65" },
    ".cm-content": { padding: "12px 0", caretColor: "var(--accent)" },
    ".cm-line": { padding: "0 16px 0 8px" },
    ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--ink-3)", border: "none", paddingLeft: "8px" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in oklab, var(--hover) 55%, transparent)" },
    ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
      backgroundColor: "color-mix(in oklab, var(--accent) 22%, transparent)",
    },
    ".cm-placeholder": { color: "var(--ink-3)" },
    ".cm-tooltip": {
      border: "1px solid var(--line)",
      borderRadius: "9px",
      backgroundColor: "var(--raised)",
      color: "var(--ink)",
      boxShadow: "var(--shadow-pop)",
      overflow: "hidden",
    },
    ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "240px" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "4px 10px", lineHeight: "1.5" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--ink)" },
    ".cm-completionDetail": { color: "var(--ink-3)", fontStyle: "normal", marginLeft: "14px" },
    ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)", fontWeight: "600" },
    ".cm-tooltip.cm-completionInfo": { padding: "9px 12px", maxWidth: "320px", fontFamily: "var(--sans)", fontSize: "12.5px", lineHeight: "1.5" },
    ".cm-diagnostic": { borderLeft: "3px solid var(--bad)", padding: "7px 12px", fontFamily: "var(--sans)", maxWidth: "420px" },
    ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
    ".cm-lintPoint-error:after": { borderBottomColor: "var(--bad)" },
    ".cm-matchingBracket": { backgroundColor: "var(--accent-soft) !important", outline: "1px solid var(--accent)" },
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
      { tag: [tags.string, tags.content], color: "var(--ink)" },
      { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--series-2)" },
      { tag: tags.comment, color: "var(--ink-3)", fontStyle: "italic" },
      { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--ink-3)" },
      { tag: tags.keyword, color: "var(--series-4)" },
    ]),
  ),
];
