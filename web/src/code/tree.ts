/** The files of a code archive as a tree, beside another archive's where two are compared. Pure. */

export interface CodeFile {
  path: string;
  size_bytes: number;
  sha256: string;
}

/** How a file stands to the other experiment's: `gone` is only there, `new` only here. */
export type Mark = "same" | "changed" | "new" | "gone";

export interface TreeRow {
  /** The whole path: of a folder without a slash at its end. */
  path: string;
  name: string;
  depth: number;
  file: CodeFile | null;
  mark: Mark | null;
}

/** The files of both, by path, with how they differ; without another, none differs. */
export function marked(files: readonly CodeFile[], others: readonly CodeFile[] | null): Map<string, { file: CodeFile; mark: Mark | null }> {
  if (others === null) return new Map(files.map((file) => [file.path, { file, mark: null }]));
  const there = new Map(others.map((file) => [file.path, file.sha256]));
  const here = new Set(files.map(({ path }) => path));
  const own = files.map((file) => {
    const hash = there.get(file.path);
    return { file, mark: hash === undefined ? ("new" as const) : hash === file.sha256 ? ("same" as const) : ("changed" as const) };
  });
  const gone = others.filter(({ path }) => !here.has(path)).map((file) => ({ file, mark: "gone" as const }));
  return new Map([...own, ...gone].map((one) => [one.file.path, one]));
}

/** Folders before files, each by name; what lies in a folder that is closed is left out. */
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

/** What is shown where nothing was chosen: the first that differs, else what a reader would open first. */
export function firstOf(files: ReadonlyMap<string, { file: CodeFile; mark: Mark | null }>, entrypoint: string): string | undefined {
  const paths = [...files.keys()].sort();
  const isOther = (path: string) => !["same", null].includes(files.get(path)?.mark ?? null);
  return paths.find(isOther) ?? paths.find((path) => entrypoint.split(/\s+/).includes(path)) ?? paths.find((path) => /(^|\/)readme/i.test(path)) ?? paths[0];
}

function byName(one: readonly [string, unknown], other: readonly [string, unknown]): number {
  return one[0] < other[0] ? -1 : 1;
}
