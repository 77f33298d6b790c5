import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import type { Resource } from "@/api/types";
import { Button } from "@/parts/Button";
import { Select } from "@/parts/Field";
import { counted } from "@/parts/format";
import { Empty, Loading } from "@/parts/Notes";
import { toast } from "@/parts/Toast";
import { piecesOf } from "./ansi";
import css from "./Logs.module.css";
import type { LogSearch } from "./search";
import { useLines } from "./useLines";

type Line = Resource<"LogLine">;

/** WCAG 2.2: targets are at least 24 px high. */
const LINE_PX = 24;

interface LogViewProps {
  /** API path of the trial or experiment. */
  of: string;
  /** Shows the trial of each line. */
  isOfMany?: boolean;
  search: LogSearch;
  onSearch: (change: LogSearch) => void;
}

/** Live log lines of ranks with filter, search and a link to each line. */
export function LogView({ of, isOfMany = false, search, onSearch }: LogViewProps) {
  const { lines, connection, isEnded, hasAnswered } = useLines(of, isOfMany, search);
  const [isFollowing, setFollowing] = useState(search.line === undefined);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: lines.length, getScrollElement: () => scroller.current, estimateSize: () => LINE_PX, overscan: 30 });
  const at = search.line ? lines.findIndex(({ cursor }) => cursor === search.line) : -1;
  useEffect(() => {
    if (isFollowing && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [isFollowing, lines.length, virtual]);
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: "center" });
  }, [at, virtual]);
  const link = (line: Line) => {
    onSearch({ since: line.time, line: line.cursor });
    setFollowing(false);
    const address = new URL(location.href);
    address.searchParams.set("since", line.time);
    // In quotes, as the router writes it; otherwise it would parse 1.70 as a number.
    address.searchParams.set("line", JSON.stringify(line.cursor));
    void navigator.clipboard?.writeText(address.href).then(() => toast("Link to this line copied"));
  };
  return (
    <>
      <Filters search={search} onSearch={onSearch} isFollowing={isFollowing} onFollowing={setFollowing} />
      <div ref={scroller} className={css.scroller} role="log" aria-label="log lines" tabIndex={0} onWheel={(event) => event.deltaY < 0 && setFollowing(false)}>
        {lines.length === 0 ? (
          !hasAnswered && !isEnded ? (
            <Loading rows={10} />
          ) : (
            <Empty title={search.contains || search.level || search.rank || search.stream ? "No lines match this filter" : isEnded ? "No log lines were written" : "No log lines yet"} />
          )
        ) : (
          <div className={css.lines} style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, start }) => {
              const line = lines[index];
              return line && <Row key={line.cursor} line={line} isOfMany={isOfMany} start={start} isMarked={index === at} onLink={() => link(line)} />;
            })}
          </div>
        )}
      </div>
      <p className={css.foot} role="status">
        {counted(lines.length, "line")} · {isEnded ? "complete" : connection === "open" ? "following" : "reconnecting"}
      </p>
    </>
  );
}

interface RowProps {
  line: Line;
  isOfMany: boolean;
  start: number;
  isMarked: boolean;
  onLink: () => void;
}

function Row({ line, isOfMany, start, isMarked, onLink }: RowProps) {
  const kind = line.level === "error" ? css.error : line.level === "warning" ? css.warning : line.stream === "platform" ? css.platform : "";
  return (
    <div className={`${css.line} ${kind}`} data-marked={isMarked || undefined} style={{ transform: `translateY(${start}px)` }}>
      <button type="button" className={css.time} title="Copy a link to this line" onClick={onLink}>
        {line.time.slice(11, 23)}
      </button>
      {isOfMany && (
        <Link className={css.trial} to="/trials/$trial/$tab" params={{ trial: line.trial, tab: "logs" }} search={{ since: line.time, line: line.cursor } as never} title={`Logs of trial ${line.trial_number}`}>
          {line.trial_number}
        </Link>
      )}
      <span className={css.rank} title={`run ${line.run}, rank ${line.rank}, ${line.stream}`}>
        {line.stream === "platform" ? "muster" : line.rank}
      </span>
      <span className={css.text}>
        {piecesOf(line.text).map((piece, at) => (
          <span key={at} className={[piece.colour && css[piece.colour], piece.isBold && css.bold, piece.isDim && css.dim].filter(Boolean).join(" ") || undefined}>
            {piece.text}
          </span>
        ))}
      </span>
    </div>
  );
}

interface FiltersProps extends Pick<LogViewProps, "search" | "onSearch"> {
  isFollowing: boolean;
  onFollowing: (isFollowing: boolean) => void;
}

function Filters({ search, onSearch, isFollowing, onFollowing }: FiltersProps) {
  return (
    <form
      className={css.filters}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        onSearch({ contains: String(form.get("lines") ?? "") || undefined, rank: String(form.get("rank") ?? "") || undefined });
      }}
    >
      <input key={search.contains} name="lines" type="search" aria-label="Lines that contain" placeholder="Search lines" defaultValue={search.contains} maxLength={200} />
      <input key={`rank ${search.rank}`} name="rank" className={css.small} inputMode="numeric" pattern="\d*" aria-label="Rank" placeholder="Rank" defaultValue={search.rank} />
      <Select label="Level" value={search.level ?? ""} onChange={(event) => onSearch({ level: event.target.value || undefined })}>
        <option value="">all levels</option>
        {["debug", "info", "warning", "error"].map((level) => (
          <option key={level} value={level}>
            {level} and above
          </option>
        ))}
      </Select>
      <Select label="Stream" value={search.stream ?? ""} onChange={(event) => onSearch({ stream: event.target.value || undefined })}>
        <option value="">all streams</option>
        <option value="stdout">stdout</option>
        <option value="stderr">stderr</option>
        <option value="platform">platform</option>
      </Select>
      <button type="submit" className="unseen">
        Search
      </button>
      {search.since && (
        <Button small kind="quiet" icon="close" onClick={() => onSearch({ since: undefined, line: undefined })}>
          From {search.since.slice(11, 19)} on
        </Button>
      )}
      <label className={css.follow}>
        <input type="checkbox" checked={isFollowing} onChange={(event) => onFollowing(event.target.checked)} />
        Follow
      </label>
    </form>
  );
}
