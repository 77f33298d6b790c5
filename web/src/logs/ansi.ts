/** The colours that terminals know, out of a line of a log: text and names of looks, never markup. Pure. */

export interface Piece {
  text: string;
  /** 0 to 7, as terminals count them; 8 to 15 are bright. */
  colour?: number;
  isBold?: boolean;
  isDim?: boolean;
}

// Sequences of control, titles of windows, and other escapes: all but colours are left out.
const ESCAPES = /\u001b(?:\[([0-9;:?]*)([ -/]*[@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
// What else has no look, but a tab.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** A line in pieces of one look each. What a carriage return overwrote is left out, as on a screen. */
export function piecesOf(line: string): Piece[] {
  const shown = line.replace(/\r+$/, "");
  const seen = shown.slice(shown.lastIndexOf("\r") + 1);
  const pieces: Piece[] = [];
  let look: Omit<Piece, "text"> = {};
  let from = 0;
  const take = (to: number) => {
    const text = seen.slice(from, to).replace(CONTROLS, "");
    if (text) pieces.push({ text, ...look });
  };
  for (const found of seen.matchAll(ESCAPES)) {
    take(found.index);
    from = found.index + found[0].length;
    if (found[2] === "m") look = turned(look, found[1] ?? "");
  }
  take(seen.length);
  return pieces;
}

function turned(look: Omit<Piece, "text">, codes: string): Omit<Piece, "text"> {
  let next = { ...look };
  const numbers = codes.split(/[;:]/).map(Number);
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 0) next = {};
    else if (code === 1) next.isBold = true;
    else if (code === 2) next.isDim = true;
    else if (code === 22) next = { ...next, isBold: undefined, isDim: undefined };
    else if (code >= 30 && code <= 37) next.colour = code - 30;
    else if (code >= 90 && code <= 97) next.colour = code - 82;
    else if (code === 39) next.colour = undefined;
    else if (code === 38 || code === 48) {
      // One of 256, or three parts: of these only the first sixteen have a look here.
      const [kind, colour = 0] = [numbers[at + 1], numbers[at + 2]];
      if (code === 38 && kind === 5) next.colour = colour < 16 ? colour : undefined;
      at += kind === 5 ? 2 : 4;
    }
  }
  return next;
}
