/** The colours that terminals show, out of a line of a log: text and names of colours, never markup. Pure. */
import Anser, { type AnserJsonEntry } from "anser";

/** Its types leave this out. */
type Entry = AnserJsonEntry & { isInverted?: boolean };

export interface Piece {
  text: string;
  /** One of the sixteen named colours, such as `ansi-red` or `ansi-bright-red`. */
  colour?: string;
  isBold?: boolean;
  isDim?: boolean;
}

const ESCAPES = /\u001b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const LOOKS = /^\u001b\[[\d;:]*m$/;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** A line in pieces of one look each. What a carriage return overwrote is left out, as on a screen. */
export function piecesOf(line: string): Piece[] {
  const shown = line.replace(/\r+$/, "");
  // Anser reads no colons between numbers, and leaves titles and links of terminals in the text.
  const coloured = shown.slice(shown.lastIndexOf("\r") + 1).replace(ESCAPES, (found) => (LOOKS.test(found) ? found.replaceAll(":", ";") : ""));
  const entries: Entry[] = Anser.ansiToJson(coloured, { use_classes: true });
  return entries.flatMap(({ content, fg, bg, isInverted, decorations }) => {
    const text = content.replace(CONTROLS, "");
    return text ? [{ text, colour: (isInverted ? inkOf(bg) : fg) ?? undefined, isBold: decorations.includes("bold"), isDim: decorations.includes("dim") }] : [];
  });
}

/** Anser swaps the colours of reversed text, and takes white for none. Backgrounds are not shown, so the text keeps its own colour. */
function inkOf(bg: string | null): string | null {
  return bg === "ansi-white" ? null : bg;
}
