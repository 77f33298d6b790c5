/** Patterns of `.musterignore`, as the command line reads them. Pure. */

/** Left out of every archive. */
const ALWAYS = [".git", ".hg", ".svn", "__pycache__", "*.pyc", ".venv", ".muster", ".DS_Store", ".ipynb_checkpoints"];

/** The patterns of a file, behind those that always hold. */
export function readPatterns(text: string): string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  return [...ALWAYS, ...lines.filter((line) => line !== "" && !line.startsWith("#"))];
}

/** True for a file that a pattern leaves out, or that stands in a folder that one does. */
export function isIgnored(name: string, patterns: readonly string[]): boolean {
  const parts = name.split("/");
  return parts.some((_, at) => isOut(parts.slice(0, at + 1).join("/"), at < parts.length - 1, patterns));
}

function isOut(name: string, isFolder: boolean, patterns: readonly string[]): boolean {
  let isLeftOut = false;
  for (const pattern of patterns) {
    const takesIn = pattern.startsWith("!");
    let wanted = pattern.replace(/^!+/, "");
    if (wanted.endsWith("/") && !isFolder) continue;
    wanted = wanted.replace(/\/+$/, "");
    wanted = wanted.includes("/") ? wanted.replace(/^\/+/, "") : wanted;
    const subject = wanted.includes("/") ? name : (name.split("/").at(-1) ?? name);
    if (matches(subject, wanted)) isLeftOut = !takesIn;
  }
  return isLeftOut;
}

/** `*`, `?` and `[…]` as Python's fnmatch has them: a star passes over slashes too. */
function matches(subject: string, pattern: string): boolean {
  const written = pattern.replace(/\[(!?)([^\]]+)\]|[.+^${}()|\\[\]*?]/g, (sign, negated: string | undefined, set: string | undefined) => {
    if (set !== undefined) return `[${negated ? "^" : ""}${set.replaceAll("\\", "\\\\")}]`;
    return sign === "*" ? "[^]*" : sign === "?" ? "[^]" : `\\${sign}`;
  });
  try {
    return new RegExp(`^${written}$`).test(subject);
  } catch {
    return false;
  }
}
