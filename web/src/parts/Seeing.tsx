import { useQuery, type QueryKey, type UseQueryOptions } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import type { Seen } from "@/api/seen";
import { Dialog } from "./Dialog";
import { Loading, Trouble } from "./Notes";

interface SeeingProps<Thing, Key extends QueryKey> {
  title: string;
  query: UseQueryOptions<Seen<Thing>, Error, Seen<Thing>, Key>;
  onClose: () => void;
  children: (seen: Seen<Thing>) => ReactNode;
}

/** A window in which something is changed: it begins with the thing as it is when the window opens, and keeps it. An answer that comes later belongs to somebody else's change. */
export function Seeing<Thing, Key extends QueryKey>({ title, query, onClose, children }: SeeingProps<Thing, Key>) {
  const { data, error } = useQuery(query);
  const [first, setFirst] = useState<Seen<Thing> | null>(data ?? null);
  if (first === null && data !== undefined) setFirst(data);
  if (first !== null) return children(first);
  return (
    <Dialog title={title} onClose={onClose}>
      {error ? <Trouble error={error} /> : <Loading rows={4} />}
    </Dialog>
  );
}
