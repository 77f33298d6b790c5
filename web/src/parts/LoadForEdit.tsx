import { useQuery, type QueryKey, type UseQueryOptions } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import type { Seen } from "@/api/seen";
import { Dialog } from "./Dialog";
import { Loading, Trouble } from "./Notes";

interface LoadForEditProps<Thing, Key extends QueryKey> {
  title: string;
  query: UseQueryOptions<Seen<Thing>, Error, Seen<Thing>, Key>;
  onClose: () => void;
  children: (seen: Seen<Thing>) => ReactNode;
}

/** Loads an object with its ETag for a dialog that changes it, and keeps that version: later responses contain changes of other users. */
export function LoadForEdit<Thing, Key extends QueryKey>({ title, query, onClose, children }: LoadForEditProps<Thing, Key>) {
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
