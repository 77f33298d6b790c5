import { readChartSearch, text, type ChartSearch } from "@/training/chartSearch";

/** What to compare: trials by name (`31.4`), and experiments, represented by their best trial. */
export interface CompareSearch extends ChartSearch {
  trials?: string;
  experiments?: string;
  /** The experiment whose code is compared with the first one's, the open file, and a line. */
  code?: string;
  file?: string;
  at?: number;
}

export const MOST = 20;

export function readCompareSearch(search: Record<string, unknown>): CompareSearch {
  return {
    ...readChartSearch(search),
    trials: listed(text(search.trials), /^\d+\.\d+$/),
    experiments: listed(text(search.experiments), /^\d+$/),
    code: text(search.code),
    file: text(search.file),
    at: Number(search.at) >= 1 ? Math.floor(Number(search.at)) : undefined,
  };
}

function listed(names: string | undefined, shape: RegExp): string | undefined {
  return split(names).filter((name) => shape.test(name)).slice(0, MOST).join(",") || undefined;
}

/** Returns the names in a list in the URL, without duplicates. */
export function split(names: string | undefined): string[] {
  return [...new Set((names ?? "").split(",").map((name) => name.trim()).filter(Boolean))];
}
