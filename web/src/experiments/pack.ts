/** Packs a folder of code like the command line does: a gzipped tar, identified by its SHA-256. */
import { Problem } from "@/api/problem";
import { GIT_IGNORE, IGNORE_FILES, leftOut, privateAmong, readRules, BUILT_IN, type LeftOut, type Rule } from "./ignoring";

export interface Packed {
  content: Blob;
  sha256: string;
  files: string[];
  bytes: number;
  leftOut: LeftOut[];
}

export interface SourceFile {
  /** Path relative to the folder, with slashes. */
  name: string;
  content: Blob;
}

const BLOCK = 512;
const MOST_BYTES = 512 * 1024 * 1024;
const encoder = new TextEncoder();

/** Files to upload and excluded paths; an excluded folder is listed once. */
export interface Sources {
  files: SourceFile[];
  leftOut: LeftOut[];
}

/** Returns the chosen files with paths relative to their folder. */
export function filesOf(chosen: Iterable<File>): SourceFile[] {
  return [...chosen].map((file) => ({ name: file.webkitRelativePath.split("/").slice(1).join("/") || file.name, content: file }));
}

/** Separates the files to upload from caches, likely secrets and files that `.musterignore` (without it, `.gitignore`) excludes. */
export async function sourcesOf(all: readonly SourceFile[]): Promise<Sources> {
  const rules = [...BUILT_IN, ...(await rulesOf(all))];
  const isPrivate = privateAmong(all.map(({ name }) => name));
  const out = new Map<string, LeftOut>();
  const files = all.filter((file) => {
    const found = leftOut(file.name, rules, isPrivate);
    if (found) out.set(found.path, found);
    return !found;
  });
  return { files: files.sort((one, other) => (one.name < other.name ? -1 : 1)), leftOut: [...out.values()] };
}

async function rulesOf(all: readonly SourceFile[]): Promise<Rule[]> {
  const own = IGNORE_FILES.flatMap((name) => all.filter((file) => file.name === name))[0];
  // Nested ignore files come after outer ones, so that they take precedence.
  const git = all.filter(({ name }) => name.split("/").at(-1) === GIT_IGNORE).sort((one, other) => one.name.length - other.name.length);
  const read = (own ? [own] : git).map(async ({ name, content }) => readRules((await content.text()).split(/\r?\n/), "file", name.slice(0, name.lastIndexOf("/") + 1), own !== undefined));
  return (await Promise.all(read)).flat();
}

/** Raises Problem if the folder is empty or too large, or if the browser cannot hash because the page is not served over https. */
export async function pack({ files: sources, leftOut }: Sources): Promise<Packed> {
  const bytes = sources.reduce((sum, { content }) => sum + content.size, 0);
  if (sources.length === 0) throw refused("code_missing", "The folder contains no files to upload", "choose the folder of the model code");
  if (bytes > MOST_BYTES) throw refused("code_too_large", "The code is larger than 512 MiB", "exclude data and results in .musterignore");
  if (globalThis.crypto?.subtle === undefined) {
    throw refused("insecure", "The browser can hash files only on pages served over https or from localhost", "use `muster experiment create`");
  }
  const tar = new Blob(await Promise.all(sources.map(entryOf)).then((entries) => [...entries.flat(), new Uint8Array(2 * BLOCK)]));
  const content = await new Response(tar.stream().pipeThrough(new CompressionStream("gzip"))).blob();
  const digest = await crypto.subtle.digest("SHA-256", await content.arrayBuffer());
  const sha256 = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return { content, sha256, files: sources.map(({ name }) => name), bytes, leftOut };
}

async function entryOf({ name, content }: SourceFile): Promise<BlobPart[]> {
  const path = encoder.encode(name);
  const isLong = path.length > 100;
  const record = isLong ? paxRecord(`path=${name}\n`) : null;
  const before = record ? [header(encoder.encode("@LongName"), record.length, "x"), padded(record)] : [];
  // Read the content before its header is built: the file may change meanwhile.
  const read = new Uint8Array(await content.arrayBuffer());
  return [...before, header(isLong ? path.slice(0, 100) : path, read.length, "0"), padded(read)];
}

/** Encodes a pax record, `30 path=…\n`, whose length includes itself. */
function paxRecord(text: string): Uint8Array<ArrayBuffer> {
  const size = encoder.encode(text).length + 1;
  let length = size + String(size).length;
  length = size + String(length).length;
  return encoder.encode(`${length} ${text}`);
}

function header(name: Uint8Array, size: number, kind: "0" | "x"): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const put = (at: number, text: string) => block.set(encoder.encode(text), at);
  block.set(name, 0);
  put(100, "0000644\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  put(124, `${size.toString(8).padStart(11, "0")}\0`);
  put(136, "00000000000\0");
  put(148, "        ");
  put(156, kind);
  put(257, "ustar\x0000");
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return block;
}

function padded(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(Math.ceil(bytes.length / BLOCK) * BLOCK);
  whole.set(bytes);
  return whole;
}

function refused(code: string, detail: string, hint: string): Problem {
  return new Problem({ status: 422, code, detail, hint });
}
