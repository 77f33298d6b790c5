/** What was dropped on the page: files, or folders with all that is in them. */
import type { SourceFile } from "./pack";

/** The files of a drop; those of a single folder by their paths within it. To be called while the event is being handled. */
export async function filesOfDrop(transfer: DataTransfer): Promise<SourceFile[]> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const [only] = entries;
  const roots = entries.length === 1 && only?.isDirectory ? await childrenOf(only as FileSystemDirectoryEntry) : entries;
  return (await Promise.all(roots.map((entry) => filesOf(entry, "")))).flat();
}

async function filesOf(entry: FileSystemEntry, above: string): Promise<SourceFile[]> {
  const name = above + entry.name;
  if (entry.isFile) return [{ name, content: await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)) }];
  const children = await childrenOf(entry as FileSystemDirectoryEntry);
  return (await Promise.all(children.map((child) => filesOf(child, `${name}/`)))).flat();
}

/** All entries of a folder: a browser gives a hundred at a time, and none at the end. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return found;
    found.push(...some);
  }
}
