import { useNavigate, useSearch } from "@tanstack/react-router";

/** What the address keeps under a name beside all else that it says, so that a link leads to it: a text, or null. */
export function useInAddress(name: string): [string | null, (next: string | null) => void] {
  const navigate = useNavigate();
  const search: Record<string, unknown> = useSearch({ strict: false });
  const value = search[name];
  const keep = (next: string | null) => void navigate({ to: ".", search: (before: object) => ({ ...before, [name]: next ?? undefined }), replace: true });
  return [value === undefined || value === null || value === "" ? null : String(value), keep];
}
