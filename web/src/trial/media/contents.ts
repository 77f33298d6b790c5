/** Parses media from untrusted bytes: returns displayable content or null. Pure. */
import type { Resource } from "@/api/types";

export type Item = Resource<"MediaItem">;
export type Name = Resource<"MediaName">;

/** Types that are shown as images; other types of scripts are never used. */
export const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The SDK's maximum number of bins. */
const MOST_BINS = 1024;

export interface Table {
  columns: string[];
  rows: unknown[][];
}

/** Bars from left to right: edges and counts. */
export interface Bars {
  edges: number[];
  counts: number[];
  /** Number of values that are not finite, which have no bar. */
  others: number;
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

export function tableOf(bytes: Uint8Array): Table | null {
  const found = parsed(bytes) as Partial<Table> | null;
  const isTable = Array.isArray(found?.columns) && Array.isArray(found.rows) && found.rows.every(Array.isArray);
  return isTable ? { columns: (found.columns as unknown[]).map(String), rows: found.rows as unknown[][] } : null;
}

export function barsOf(bytes: Uint8Array): Bars | null {
  const { counts, least, greatest, edges, others = 0 } = (parsed(bytes) ?? {}) as Record<string, unknown>;
  if (!isRow(counts) || counts.length === 0 || counts.length > MOST_BINS || !isNumber(least) || !isNumber(greatest) || !isNumber(others)) return null;
  const width = (greatest - least) / counts.length;
  const found = edges === undefined ? Array.from({ length: counts.length + 1 }, (_, at) => least + at * width) : edges;
  return isRow(found) && found.length === counts.length + 1 ? { edges: found, counts, others } : null;
}

/** Returns the items of the latest step up to `step`, or of the latest step if `step` is null. */
export function piecesAt(items: readonly Item[], step: number | null): Item[] {
  const newest = items.reduce((found, one) => (step === null || one.step <= step ? Math.max(found, one.step) : found), -1);
  return items.filter((one) => one.step === newest);
}

/** Formats a cell: strings as they are, other values as JSON. */
export function cellText(cell: unknown): string {
  return typeof cell === "string" ? cell : cell == null ? "" : JSON.stringify(cell);
}

function parsed(bytes: Uint8Array): object | null {
  try {
    const found: unknown = JSON.parse(textOf(bytes));
    return typeof found === "object" ? found : null;
  } catch {
    return null;
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isRow(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(isNumber);
}
