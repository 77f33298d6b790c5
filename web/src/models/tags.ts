/** Tags as one line of text, and what a change of it means. Pure. */

export function tagsOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/** The tags that come and go: what nobody touched stays, also where somebody else has changed it. */
export function changedTags(before: readonly string[], text: string): { add_tags: string[]; remove_tags: string[] } {
  const wanted = tagsOf(text);
  return { add_tags: wanted.filter((tag) => !before.includes(tag)), remove_tags: before.filter((tag) => !wanted.includes(tag)) };
}
