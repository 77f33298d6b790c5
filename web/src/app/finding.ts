import { useQuery } from "@tanstack/react-query";
import type { UseNavigateResult } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import { quoted } from "@/parts/expression";
import { useMay } from "@/session/session";
import type { Command } from "./commands";

const MOST = 7;

/** Finds experiments whose name contains the text, or whose number it is. */
export function useFound(text: string, navigate: UseNavigateResult<string>): Command[] {
  const may = useMay();
  const wanted = useDeferredValue(text.trim().replace(/^#/, ""));
  const filter = filterOf(wanted);
  const { data } = useQuery({
    queryKey: keys.experiments({ palette: filter }),
    queryFn: ({ signal }) => ask(api.GET("/v1/experiments", { params: { query: { filter, limit: MOST } }, signal })),
    enabled: may("experiment.read") && (wanted.length > 1 || /^\d+$/.test(wanted)),
  });
  if (wanted === "" || data === undefined) return [];
  return data.items.map((one) => ({
    id: one.id,
    label: one.name,
    icon: "experiments",
    note: `#${one.number} · ${one.state}`,
    run: () => void navigate({ to: "/experiments/$experiment", params: { experiment: String(one.number) } }),
  }));
}

function filterOf(text: string): string {
  const named = `name contains ${quoted(text)}`;
  return /^\d{1,9}$/.test(text) ? `number = ${text} or ${named}` : named;
}
