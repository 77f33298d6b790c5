/** Markdown as a tree of plain texts: what is not of the few forms here stays text, so no notes can carry markup or scripts into a page. Pure. */
export type Inline =
  | { kind: "text" | "code" | "strong" | "em"; text: string }
  | { kind: "link"; text: string; href: string };

export type Block =
  | { kind: "heading"; level: number; inlines: Inline[] }
  | { kind: "paragraph" | "quote"; inlines: Inline[] }
  | { kind: "list"; isOrdered: boolean; items: Inline[][] }
  | { kind: "code"; text: string }
  | { kind: "rule" };

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|__([^_]+)__|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>()]+)/g;
const ITEM = /^\s{0,3}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;

/** The blocks of a text, in their order. */
export function parseMarkdown(text: string): Block[] {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") at += 1;
    else if (/^\s{0,3}```/.test(line)) at = takeCode(lines, at, blocks);
    else if (/^\s{0,3}(?:-{3,}|\*{3,})\s*$/.test(line)) at = blocks.push({ kind: "rule" }) && at + 1;
    else if (/^#{1,6}\s/.test(line)) {
      const level = line.indexOf(" ");
      blocks.push({ kind: "heading", level, inlines: parseInline(line.slice(level).trim()) });
      at += 1;
    } else if (ITEM.test(line)) at = takeList(lines, at, blocks);
    else at = takeParagraph(lines, at, blocks);
  }
  return blocks;
}

function takeCode(lines: readonly string[], from: number, blocks: Block[]): number {
  let at = from + 1;
  while (at < lines.length && !/^\s{0,3}```/.test(lines[at] ?? "")) at += 1;
  blocks.push({ kind: "code", text: lines.slice(from + 1, at).join("\n") });
  return at + 1;
}

function takeList(lines: readonly string[], from: number, blocks: Block[]): number {
  const items: Inline[][] = [];
  const isOrdered = ITEM.exec(lines[from] ?? "")?.[1] !== undefined;
  let at = from;
  for (let found = ITEM.exec(lines[at] ?? ""); found; found = ITEM.exec(lines[at] ?? "")) {
    items.push(parseInline(found[2] ?? ""));
    at += 1;
  }
  blocks.push({ kind: "list", isOrdered, items });
  return at;
}

function takeParagraph(lines: readonly string[], from: number, blocks: Block[]): number {
  const isQuote = /^\s{0,3}>/.test(lines[from] ?? "");
  const said: string[] = [];
  let at = from;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const begins = line.trim() === "" || /^(?:#{1,6}\s|\s{0,3}```)/.test(line) || ITEM.test(line) || /^\s{0,3}>/.test(line) !== isQuote;
    if (begins && at > from) break;
    said.push(isQuote ? line.replace(/^\s{0,3}>\s?/, "") : line.trim());
    at += 1;
  }
  blocks.push({ kind: isQuote ? "quote" : "paragraph", inlines: parseInline(said.join(" ")) });
  return at;
}

/** What stands within a line. A link leads to the web or to a page here; any other address stays text. */
export function parseInline(text: string): Inline[] {
  const found: Inline[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > from) found.push({ kind: "text", text: text.slice(from, match.index) });
    found.push(inlineOf(match));
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ kind: "text", text: text.slice(from) });
  return found;
}

function inlineOf(match: RegExpMatchArray): Inline {
  const [whole, code, strong, strongToo, em, label, address, bare] = match;
  if (code !== undefined) return { kind: "code", text: code };
  const bold = strong ?? strongToo;
  if (bold !== undefined) return { kind: "strong", text: bold };
  if (em !== undefined) return { kind: "em", text: em };
  const href = safeHref(address ?? bare ?? "");
  if (href === null) return { kind: "text", text: whole };
  return { kind: "link", text: label ?? href, href };
}

/** The address where it is one of the web or of this site; none for `javascript:`, `data:` and all else. */
export function safeHref(address: string): string | null {
  if (/^\/(?![/\\])/.test(address)) return address;
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}
