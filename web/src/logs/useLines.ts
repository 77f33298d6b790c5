import { useEffect, useState } from "react";
import type { Resource } from "@/api/types";
import { follow, type Connection } from "@/live/socket";
import type { LogSearch } from "./search";

type Line = Resource<"LogLine">;

/** A page holds so many lines; older ones go. */
const MOST_LINES = 20_000;
const FIRST_LINES = "1000";
/** Of each trial, where there are many. */
const FIRST_LINES_EACH = "100";
/** Lines are taken together for this long. */
const GATHER_MS = 100;
/** So long without a line: there is none so far. */
const SILENCE_MS = 2500;

export interface Lines {
  lines: readonly Line[];
  connection: Connection;
  isEnded: boolean;
  hasAnswered: boolean;
}

const NONE: Lines = { lines: [], connection: "connecting", isEnded: false, hasAnswered: false };

/** The newest lines of a trial, or of each trial of an experiment, that meet the filter, or those from a moment on, and what comes after. */
export function useLines(of: string, isOfMany: boolean, { contains, level, rank, stream, since }: LogSearch): Lines {
  const [found, setFound] = useState<Lines>(NONE);
  useEffect(() => {
    setFound(NONE);
    let gathered: Line[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const settle = () => {
      timer = undefined;
      const some = gathered;
      gathered = [];
      setFound((before) => ({ ...before, hasAnswered: true, lines: [...before.lines, ...some].slice(-MOST_LINES) }));
    };
    const silence = setTimeout(() => setFound((before) => ({ ...before, hasAnswered: true })), SILENCE_MS);
    const query = new URLSearchParams(since ? { since } : { tail: isOfMany ? FIRST_LINES_EACH : FIRST_LINES });
    for (const [name, value] of Object.entries({ contains, level, rank, stream })) if (value) query.set(name, value);
    const end = follow({
      path: `${of}/logs/follow?${query}`,
      onItem: (frame) => {
        gathered.push(frame.data as Line);
        timer ??= setTimeout(settle, GATHER_MS);
      },
      onConnection: (connection) => setFound((before) => ({ ...before, connection })),
      onEnd: () => setFound((before) => ({ ...before, isEnded: true, hasAnswered: true })),
    });
    return () => {
      clearTimeout(timer);
      clearTimeout(silence);
      end();
    };
  }, [of, isOfMany, contains, level, rank, stream, since]);
  return found;
}
