import { readChartSearch, text, type ChartSearch } from "@/training/chartSearch";

/** What is compared: trials as people say them (`31.4`), and experiments, for which their best trial stands. */
export interface CompareSearch extends ChartSearch {
  trials?: string;
  experiments?: string;
  /** The experiment whose code is held against the first one's, the file of it that is open, and a line. */
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

function listed(words: string | undefined, shape: RegExp): string | undefined {
  return split(words).filter((word) => shape.test(word)).slice(0, MOST).join(",") || undefined;
}

/** The names in a list of an address, each once. */
export function split(words: string | undefined): string[] {
  return [...new Set((words ?? "").split(",").map((word) => word.trim()).filter(Boolean))];
}
