/** All pages of a list, where a page needs the whole: up to a bound, and it is told when there is more. */
interface Paged<Item> {
  items: Item[];
  next_cursor?: string | null;
}

export interface Everything<Item> {
  items: Item[];
  /** There is more than was read. */
  isCut: boolean;
}

/** Reads page after page with the cursor of the one before, `most` items at least. Raises what `read` raises. */
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
