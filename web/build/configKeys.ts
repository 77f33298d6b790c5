/** Config keys with descriptions for the editor, from `docs/config.md`, which is generated from the schema. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Plugin } from "vite";

export interface ConfigKey {
  name: string;
  /** Type as text; `words` are the possible values. */
  value: string;
  words: string[];
  about: string;
  isRequired: boolean;
}

/** Keys by section: "" is the top level, `searcher` has the keys of all methods, `hyperparameters.*` those of all types. */
export type ConfigKeys = Record<string, ConfigKey[]>;

const NAME = "virtual:config-keys";
const SOURCE = resolve(import.meta.dirname, "../../docs/config.md");
const ROW = /^\| `([^`]+)` \| (.*?) \| (.*?) \| (.*?) \|$/;

export function configKeys(): Plugin {
  return {
    name: "muster-config-keys",
    resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
    load(id) {
      if (id !== `\0${NAME}`) return undefined;
      this.addWatchFile(SOURCE);
      return `export default ${JSON.stringify(readKeys(readFileSync(SOURCE, "utf8")))}`;
    },
  };
}

/** Parses the tables of the page. */
export function readKeys(page: string): ConfigKeys {
  const found: ConfigKeys = {};
  let place = "";
  for (const line of page.split("\n")) {
    const heading = /^(##+) (.*)$/.exec(line);
    if (heading) place = placeOf(heading[1] ?? "", heading[2] ?? "", place);
    const row = ROW.exec(line);
    if (!row) continue;
    const [, name = "", value = "", usual = "", about = ""] = row;
    const keys = (found[place] ??= []);
    if (keys.some((key) => key.name === name)) continue;
    keys.push({ name, value: plain(value), words: wordsOf(value), about: plain(about), isRequired: usual.includes("required") });
  }
  return found;
}

function placeOf(marks: string, heading: string, before: string): string {
  if (heading === "The top") return "";
  const name = /`([^`]+)`/.exec(heading)?.[1] ?? heading;
  if (marks === "##") return name === "hyperparameters" ? "hyperparameters.*" : name;
  // `### name: random` is a variant of its section; `### sampler` is a subsection.
  if (name.includes(":")) return before.startsWith("searcher") ? "searcher" : before;
  return `searcher.${name}`;
}

function wordsOf(value: string): string[] {
  const words = [...value.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
  return value.replaceAll(/`[^`]+`| or /g, "").trim() === "" ? words : [];
}

function plain(text: string): string {
  return text.replaceAll("`", "").trim();
}
