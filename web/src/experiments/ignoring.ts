/** What of a folder is not sent, as the command line has it (`sdk/muster/archive/_ignore.py`): caches, likely secrets, and what an ignore file names. Pure. */

export const IGNORE_FILES = [".musterignore", ".detignore"];
/** Used where the folder has none of the others; those of folders below hold for these. Its `!` undoes its own patterns alone, never the usual rules. */
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
/** A folder that holds all of one of these is a browser's profile, or a platform's own folder. */
export const MARKS = [["Local State"], ["Login Data"], ["cookies.sqlite"], ["client.json", "secrets"]];

export type Reason = "cache" | "secret" | "file";

export interface Rule {
  pattern: RegExp;
  takesIn: boolean;
  isForFolders: boolean;
  reason: Reason;
  /** The folder of its file: empty, or with a slash at its end. */
  base: string;
  /** Where it takes in: also what the usual rules leave out. */
  overridesUsual: boolean;
}

/** The rules of an ignore file's lines; `!` takes in again. */
export function readRules(lines: readonly string[], reason: Reason, base = "", overridesUsual = true): Rule[] {
  return lines.filter((line) => line.trim() !== "" && !line.startsWith("#")).map((line) => ruleOf(line.trim(), reason, base, overridesUsual));
}

export const USUAL = [...readRules(CACHES, "cache"), ...readRules(SECRETS, "secret")];

export interface LeftOut {
  /** At which it was met; a folder ends with a slash. */
  path: string;
  reason: Reason;
}

/** Why a file stays out: by the last rule that speaks of it, or of the outermost folder that stays out; null where it is sent. */
export function leftOut(name: string, rules: readonly Rule[], isPrivate: (folder: string) => boolean): LeftOut | null {
  const parts = name.split("/");
  for (let count = 1; count <= parts.length; count++) {
    const path = parts.slice(0, count).join("/");
    const isFolder = count < parts.length;
    const rule = decidingRule(path, isFolder, rules);
    const reason = rule ? (rule.takesIn ? null : rule.reason) : isFolder && isPrivate(path) ? "secret" : null;
    if (reason) return { path: isFolder ? `${path}/` : path, reason };
  }
  return null;
}

/** The last rule that speaks of a path. Behind one that takes in and does not override the usual rules, these decide. */
function decidingRule(path: string, isFolder: boolean, rules: readonly Rule[]): Rule | undefined {
  const speaks = (one: Rule) => path.startsWith(one.base) && (isFolder || !one.isForFolders) && one.pattern.test(path.slice(one.base.length));
  const last = rules.findLast(speaks);
  return last?.takesIn && !last.overridesUsual ? rules.findLast((one) => one.reason !== "file" && speaks(one)) : last;
}

/** Tells the folders that `MARKS` marks, of the files of a folder. */
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

function ruleOf(line: string, reason: Reason, base: string, overridesUsual: boolean): Rule {
  const takesIn = line.startsWith("!");
  const given = line.replace(/^!/, "").replace(/^\\/, "");
  const pattern = given.replace(/\/+$/, "");
  const start = pattern.includes("/") ? "" : "(?:.*/)?";
  return { pattern: compiled(start, pattern.replace(/^\//, "")), takesIn, isForFolders: given.endsWith("/"), reason, base, overridesUsual };
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
