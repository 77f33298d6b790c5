/** Rules for files that are not uploaded, as in the command line (`sdk/muster/archive/_ignore.py`): caches, likely secrets and ignore files. Pure. */

export const IGNORE_FILES = [".musterignore", ".detignore"];
/** Used if the folder has no other ignore file; nested files apply to their folder. Its `!` negates only its own patterns, never the built-in rules. */
export const GIT_IGNORE = ".gitignore";
export const CACHES = ["__pycache__", "*.pyc", ".venv", ".DS_Store", ".ipynb_checkpoints"];
export const SECRETS = [
  ...[".git", ".hg", ".svn", ".muster", ".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", ".envrc"],
  ...["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"],
  ...[".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", "**/.config/gcloud", ".netrc", "_netrc", ".pgpass", ".pypirc", ".npmrc"],
  ...[".git-credentials", ".htpasswd", "credentials*.json", "client_secret*.json", "service_account*.json", "service-account*.json"],
  ...["application_default_credentials.json", "kaggle.json", "storage_state*.json", "storageState*.json", ".mozilla"],
  ...["**/.config/google-chrome", "**/.config/chromium", ".bash_history", ".zsh_history", ".python_history"],
];
/** A folder that contains all names of one entry is a browser profile or a platform's data folder. */
export const MARKS = [["Local State"], ["Login Data"], ["cookies.sqlite"], ["client.json", "secrets"]];

export type Reason = "cache" | "secret" | "file";

export interface Rule {
  pattern: RegExp;
  includes: boolean;
  isForFolders: boolean;
  reason: Reason;
  /** The folder of the ignore file: empty, or with a trailing slash. */
  base: string;
  /** For `!` rules: overrides the built-in rules too. */
  overridesBuiltIn: boolean;
}

/** Parses the lines of an ignore file; `!` includes a path again. */
export function readRules(lines: readonly string[], reason: Reason, base = "", overridesBuiltIn = true): Rule[] {
  return lines.filter((line) => line.trim() !== "" && !line.startsWith("#")).map((line) => ruleOf(line.trim(), reason, base, overridesBuiltIn));
}

export const BUILT_IN = [...readRules(CACHES, "cache"), ...readRules(SECRETS, "secret")];

export interface LeftOut {
  /** The excluded path; a folder has a trailing slash. */
  path: string;
  reason: Reason;
}

/** Returns the path and reason of an exclusion: the outermost excluded folder, or the file itself. Null if the file is uploaded. */
export function leftOut(name: string, rules: readonly Rule[], isPrivate: (folder: string) => boolean): LeftOut | null {
  const parts = name.split("/");
  for (let count = 1; count <= parts.length; count++) {
    const path = parts.slice(0, count).join("/");
    const isFolder = count < parts.length;
    const rule = decidingRule(path, isFolder, rules);
    const reason = rule ? (rule.includes ? null : rule.reason) : isFolder && isPrivate(path) ? "secret" : null;
    if (reason) return { path: isFolder ? `${path}/` : path, reason };
  }
  return null;
}

/** Returns the last rule that matches a path. If it includes the path but must not override the built-in rules, those decide. */
function decidingRule(path: string, isFolder: boolean, rules: readonly Rule[]): Rule | undefined {
  const matches = (one: Rule) => path.startsWith(one.base) && (isFolder || !one.isForFolders) && one.pattern.test(path.slice(one.base.length));
  const last = rules.findLast(matches);
  return last?.includes && !last.overridesBuiltIn ? rules.findLast((one) => one.reason !== "file" && matches(one)) : last;
}

/** Returns a test for folders that `MARKS` identifies among these files. */
export function privateAmong(names: readonly string[]): (folder: string) => boolean {
  const entries = new Map<string, Set<string>>();
  for (const name of names) {
    const parts = name.split("/");
    for (let count = 1; count < parts.length; count++) {
      const folder = parts.slice(0, count).join("/");
      entries.set(folder, (entries.get(folder) ?? new Set()).add(parts[count] ?? ""));
    }
  }
  return (folder) => MARKS.some((mark) => mark.every((one) => entries.get(folder)?.has(one)));
}

function ruleOf(line: string, reason: Reason, base: string, overridesBuiltIn: boolean): Rule {
  const includes = line.startsWith("!");
  const given = line.replace(/^!/, "").replace(/^\\/, "");
  const pattern = given.replace(/\/+$/, "");
  const start = pattern.includes("/") ? "" : "(?:.*/)?";
  return { pattern: compiled(start, pattern.replace(/^\//, "")), includes, isForFolders: given.endsWith("/"), reason, base, overridesBuiltIn };
}

function compiled(start: string, pattern: string): RegExp {
  const written = pattern.replace(/\*\*\/|\*\*|\[([!^]?)([^/]+?)\]|[.+^${}()|\\[\]*?/-]/g, (sign, negated: string | undefined, set: string | undefined) => {
    if (set !== undefined) return `[${negated ? "^/" : ""}${set.replaceAll("\\", "\\\\")}]`;
    return { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" }[sign] ?? `\\${sign}`;
  });
  try {
    return new RegExp(`^${start}(?:${written})$`, "s");
  } catch {
    return new RegExp(`^${start}${pattern.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")}$`, "s");
  }
}
