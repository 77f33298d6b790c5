import { useEffect, useState } from "react";
import type { Resource } from "@/api/types";
import { follow, type Connection } from "@/live/socket";
import type { LogSearch } from "./search";

type Line = Resource<"LogLine">;

/** Maximum number of lines in memory; the oldest are dropped. */
const MOST_LINES = 20_000;
const FIRST_LINES = "1000";
/** Lines per trial, if there are several. */
const FIRST_LINES_EACH = "100";
/** Lines are batched for this long. */
const GATHER_MS = 100;
/** Without a line for this long, the log counts as empty so far. */
const SILENCE_MS = 2500;

export interface Lines {
  lines: readonly Line[];
  connection: Connection;
  isEnded: boolean;
  hasAnswered: boolean;
}

const NONE: Lines = { lines: [], connection: "connecting", isEnded: false, hasAnswered: false };

/** Returns the newest lines of a trial or of each trial of an experiment that match the filter, or those since a time, and follows new ones. */
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
