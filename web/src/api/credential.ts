/**
 * By what this page's requests count: the session's cookie, which no script can read. Also who came with a token has one: the page holds no
 * secret, and a reload forgets nothing (decision 0197).
 */
type Listener = () => void;

const listeners = new Set<Listener>();

export const credential = {
  /** What every request says, and no other site's page can. */
  headers: (): Record<string, string> => ({ "Muster-Session": "cookie" }),
  /** The gateway does not know us any more: whoever shows a page learns it. */
  refused(): void {
    for (const listener of listeners) listener();
  },
  onRefused(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
