/** Parses terminal colours in log lines to text and colour names, never markup. Pure. */
import Anser, { type AnserJsonEntry } from "anser";

/** Missing in the types of Anser. */
type Entry = AnserJsonEntry & { isInverted?: boolean };

export interface Piece {
  text: string;
  /** One of sixteen colour names, such as `ansi-red` or `ansi-bright-red`. */
  colour?: string;
  isBold?: boolean;
  isDim?: boolean;
}

const ESCAPES = /\u001b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const LOOKS = /^\u001b\[[\d;:]*m$/;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Splits a line into spans of the same style. Text before a carriage return is dropped, as a terminal overwrites it. */
export function piecesOf(line: string): Piece[] {
  const trimmed = line.replace(/\r+$/, "");
  // Anser does not parse colons between numbers, and keeps terminal titles and links in the text.
  const coloured = trimmed.slice(trimmed.lastIndexOf("\r") + 1).replace(ESCAPES, (found) => (LOOKS.test(found) ? found.replaceAll(":", ";") : ""));
  const entries: Entry[] = Anser.ansiToJson(coloured, { use_classes: true });
  return entries.flatMap(({ content, fg, bg, isInverted, decorations }) => {
    const text = content.replace(CONTROLS, "");
    return text ? [{ text, colour: (isInverted ? inkOf(bg) : fg) ?? undefined, isBold: decorations.includes("bold"), isDim: decorations.includes("dim") }] : [];
  });
}

/** Anser swaps the colours of inverted text and defaults to white. Backgrounds are not shown, so the text keeps its own colour. */
function inkOf(bg: string | null): string | null {
  return bg === "ansi-white" ? null : bg;
}
