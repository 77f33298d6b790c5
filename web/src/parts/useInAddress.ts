import { useNavigate, useSearch } from "@tanstack/react-router";

/** State in one search parameter of the URL: a string or null. */
export function useInAddress(name: string): [string | null, (next: string | null) => void] {
  const navigate = useNavigate();
  const search: Record<string, unknown> = useSearch({ strict: false });
  const value = search[name];
  const keep = (next: string | null) => void navigate({ to: ".", search: (before: object) => ({ ...before, [name]: next ?? undefined }), replace: true });
  return [value === undefined || value === null || value === "" ? null : String(value), keep];
}
