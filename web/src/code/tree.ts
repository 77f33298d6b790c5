/** The files of a code archive as a tree, optionally compared with another archive. Pure. */

export interface CodeFile {
  path: string;
  size_bytes: number;
  sha256: string;
}

/** How a file differs from the other experiment's: `deleted` exists only there, `new` only here. */
export type Mark = "same" | "changed" | "new" | "deleted";

export interface TreeRow {
  /** The complete path; of a folder without a trailing slash. */
  path: string;
  name: string;
  depth: number;
  file: CodeFile | null;
  mark: Mark | null;
}

/** Returns the files of both archives by path, with their differences. */
export function marked(files: readonly CodeFile[], others: readonly CodeFile[] | null): Map<string, { file: CodeFile; mark: Mark | null }> {
  if (others === null) return new Map(files.map((file) => [file.path, { file, mark: null }]));
  const there = new Map(others.map((file) => [file.path, file.sha256]));
  const here = new Set(files.map(({ path }) => path));
  const own = files.map((file) => {
    const hash = there.get(file.path);
    return { file, mark: hash === undefined ? ("new" as const) : hash === file.sha256 ? ("same" as const) : ("changed" as const) };
  });
  const deleted = others.filter(({ path }) => !here.has(path)).map((file) => ({ file, mark: "deleted" as const }));
  return new Map([...own, ...deleted].map((one) => [one.file.path, one]));
}

/** Returns the rows of the tree: folders before files, each by name, without the contents of closed folders. */
export function treeOf(files: ReadonlyMap<string, { file: CodeFile; mark: Mark | null }>, closed: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (within: string, paths: readonly string[], depth: number) => {
    const folders = new Map<string, string[]>();
    const own: string[] = [];
    for (const path of paths) {
      const slash = path.indexOf("/", within.length);
      if (slash < 0) own.push(path);
      else folders.set(path.slice(0, slash), [...(folders.get(path.slice(0, slash)) ?? []), path]);
    }
    for (const [path, inside] of [...folders].sort(byName)) {
      rows.push({ path, name: path.slice(within.length), depth, file: null, mark: null });
      if (!closed.has(path)) add(`${path}/`, inside, depth + 1);
    }
    for (const path of own.sort()) {
      const { file = null, mark = null } = files.get(path) ?? {};
      rows.push({ path, name: path.slice(within.length), depth, file, mark });
    }
  };
  add("", [...files.keys()], 0);
  return rows;
}

/** Returns the file to open by default: the first that differs, otherwise the entrypoint or a typical start. */
export function firstOf(files: ReadonlyMap<string, { file: CodeFile; mark: Mark | null }>, entrypoint: string): string | undefined {
  const paths = [...files.keys()].sort();
  const isOther = (path: string) => !["same", null].includes(files.get(path)?.mark ?? null);
  return paths.find(isOther) ?? paths.find((path) => entrypoint.split(/\s+/).includes(path)) ?? paths.find((path) => /(^|\/)readme/i.test(path)) ?? paths[0];
}

function byName(one: readonly [string, unknown], other: readonly [string, unknown]): number {
  return one[0] < other[0] ? -1 : 1;
}
