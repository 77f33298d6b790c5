/** Completion for configs: keys of the current section and values of enumerations. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import keys from "virtual:config-keys";

/** Completes from the schema of configs. */
export function completeConfig(context: CompletionContext): CompletionResult | null {
  const { state, pos } = context;
  const line = state.doc.lineAt(pos);
  const before = line.text.slice(0, pos - line.from);
  const above = Array.from({ length: line.number - 1 }, (_, at) => state.doc.line(at + 1).text);
  const path = placeAt(above, before);
  const value = /(?:^|[\s{,-])([\w.]+):\s*(\S*)$/.exec(before);
  if (value) {
    const values = keysAt(path).find((key) => key.name === value[1])?.words ?? [];
    const options = values.map((label): Completion => ({ label, type: "constant" }));
    return options.length > 0 ? { from: pos - (value[2]?.length ?? 0), options } : null;
  }
  const typed = /[\w.]*$/.exec(before)?.[0] ?? "";
  if (typed === "" && !context.explicit) return null;
  const options = keysAt(path).map(
    (key): Completion => ({
      label: key.name,
      apply: `${key.name}: `,
      detail: key.value,
      info: key.about || undefined,
      boost: key.isRequired ? 2 : 0,
    }),
  );
  return options.length > 0 ? { from: pos - typed.length, options } : null;
}

/** Returns the names of the sections around the cursor. */
export function placeAt(above: readonly string[], before: string): string[] {
  let indent = indentOf(before);
  const found = inFlow(before);
  for (const line of [...above].reverse()) {
    const key = /^\s*(?:- )?([\w.]+):\s*$/.exec(line.replace(/\s+#.*$/, ""));
    if (key && indentOf(line) < indent) {
      found.unshift(key[1] ?? "");
      indent = indentOf(line);
    }
  }
  return found;
}

/** Returns the keys with braces that are open at the end of the text. */
function inFlow(text: string): string[] {
  const open: string[] = [];
  for (const match of text.matchAll(/([\w.]+):\s*\{|\{|\}/g)) {
    if (match[0] === "}") open.pop();
    else open.push(match[1] ?? "");
  }
  return open;
}

function keysAt(path: readonly string[]) {
  if (path[0] === "hyperparameters" && path.length > 1) return keys["hyperparameters.*"] ?? [];
  return keys[path.join(".")] ?? [];
}

function indentOf(line: string): number {
  return /^\s*/.exec(line)?.[0].length ?? 0;
}
