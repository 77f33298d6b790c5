/** Reads all pages of a list up to a limit, for pages that need the whole list. */
interface Paged<Item> {
  items: Item[];
  next_cursor?: string | null;
}

export interface Everything<Item> {
  items: Item[];
  /** The list has more items than were read. */
  isCut: boolean;
}

/** Reads pages until the end or until at least `most` items. Raises what `read` raises. */
export async function every<Item>(read: (cursor: string | undefined) => Promise<Paged<Item>>, most = 2000): Promise<Everything<Item>> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && items.length < most);
  return { items, isCut: cursor !== undefined };
}
