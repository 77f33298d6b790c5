/** Reads files and folders that are dropped on the page. */
import type { SourceFile } from "./pack";

/** Returns the dropped files; those of a single folder with paths relative to it. Call it synchronously in the event handler. */
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

/** Returns all entries of a folder. Browsers return up to 100 per call, and none at the end. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return found;
    found.push(...some);
  }
}
