/** Converts config fragments to YAML and back. Pure. */
import { parseDocument, stringify } from "yaml";

export interface Mark {
  line: number;
  column: number;
  message: string;
}

export type Mapping = Record<string, unknown>;

/** Returns the config as YAML for the editor; an empty config as an empty string. */
export function textOf(config: object): string {
  return Object.keys(config).length === 0 ? "" : stringify(config, { lineWidth: 0 });
}

/** Parses a config: its value, or null with the errors. Empty text is an empty config. */
export function readMapping(text: string): { value: Mapping | null; marks: Mark[] } {
  const found = parseDocument(text, { prettyErrors: true });
  if (found.errors.length > 0) {
    return { value: null, marks: found.errors.map((error) => ({ line: error.linePos?.[0].line ?? 1, column: error.linePos?.[0].col ?? 1, message: error.message.split("\n")[0] ?? "" })) };
  }
  const value = found.toJS() as unknown;
  if (value == null) return { value: {}, marks: [] };
  if (typeof value !== "object" || Array.isArray(value)) return { value: null, marks: [{ line: 1, column: 1, message: "A config must be a YAML mapping of keys to values." }] };
  return { value: value as Mapping, marks: [] };
}
