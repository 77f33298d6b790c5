/** Moves a trial in the queue by pointer or keyboard. */
import { useEffect, useState, type KeyboardEvent, type PointerEvent, type RefObject } from "react";
import type { QueueEntry } from "./data";
import { planMove, type Move } from "./priority";

export interface Moving {
  at: number;
  /** Index of the trial that it would precede; the number of all trials for the end. */
  to: number;
}

interface MovingOptions {
  entries: readonly QueueEntry[];
  scroller: RefObject<HTMLDivElement | null>;
  /** The height of a row, in pixels. */
  row: number;
  onMove?: (move: Move) => void;
}

const EDGE_PX = 40;

export interface Handle {
  onPointerDown: (event: PointerEvent<HTMLButtonElement>) => void;
  onKeyDown: (event: KeyboardEvent<HTMLButtonElement>) => void;
  onBlur: () => void;
}

export function useMoving({ entries, scroller, row, onMove }: MovingOptions): { state: Moving | null; handleOf: (at: number) => Handle } {
  const [state, setState] = useState<Moving | null>(null);
  const [isDragged, setDragged] = useState(false);
  const finish = (moving: Moving | null) => {
    setState(null);
    setDragged(false);
    const move = moving && planMove(entries, moving.at, moving.to);
    if (move) onMove?.(move);
  };
  useEffect(() => {
    if (!isDragged || state === null) return;
    const over = (event: globalThis.PointerEvent) => setState({ at: state.at, to: rowAt(event.clientY, scroller.current, row, entries.length) });
    const drop = () => finish(state);
    const leave = (event: globalThis.KeyboardEvent) => event.key === "Escape" && finish(null);
    addEventListener("pointermove", over);
    addEventListener("pointerup", drop);
    addEventListener("pointercancel", drop);
    addEventListener("keydown", leave);
    return () => {
      removeEventListener("pointermove", over);
      removeEventListener("pointerup", drop);
      removeEventListener("pointercancel", drop);
      removeEventListener("keydown", leave);
    };
  });
  const handleOf = (at: number): Handle => ({
    onPointerDown: (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      event.currentTarget.focus();
      setState({ at, to: at });
      setDragged(true);
    },
    onKeyDown: (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (step !== undefined) {
        event.preventDefault();
        setState({ at, to: stepped(state?.at === at ? state.to : at, at, step, entries.length) });
      } else if (event.key === "Enter" && state) {
        event.preventDefault();
        finish(state);
      } else if (event.key === "Escape" && state) {
        event.stopPropagation();
        finish(null);
      }
    },
    onBlur: () => !isDragged && setState(null),
  });
  return { state, handleOf };
}

/** Returns the row that the pointer is before; scrolls the list near its edges. */
function rowAt(y: number, scroller: HTMLDivElement | null, row: number, count: number): number {
  if (scroller === null) return 0;
  const box = scroller.getBoundingClientRect();
  if (y < box.top + EDGE_PX) scroller.scrollTop -= row / 2;
  else if (y > box.bottom - EDGE_PX) scroller.scrollTop += row / 2;
  return Math.min(count, Math.max(0, Math.round((y - box.top + scroller.scrollTop) / row)));
}

/** Returns the next position; the positions before and after its own row are the same. */
export function stepped(to: number, at: number, step: number, count: number): number {
  const next = to + step === at + 1 ? to + 2 * step : to + step;
  return Math.min(count, Math.max(0, next));
}
