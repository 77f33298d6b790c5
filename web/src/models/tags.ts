/** Tags as one line of text, and the changes of an edit. Pure. */

export function tagsOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/** Returns the added and removed tags. Tags that the edit does not touch stay, even if another user has changed them. */
export function changedTags(before: readonly string[], text: string): { add_tags: string[]; remove_tags: string[] } {
  const edited = tagsOf(text);
  return { add_tags: edited.filter((tag) => !before.includes(tag)), remove_tags: before.filter((tag) => !edited.includes(tag)) };
}
