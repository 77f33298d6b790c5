/**
 * Requests authenticate with the session cookie, which scripts cannot read. Signing in with a token creates a session too, so the page holds no
 * secret and a reload keeps the user signed in (decision 0197).
 */
type Listener = () => void;

const listeners = new Set<Listener>();

export const credential = {
  /** A header on every request, which pages of other sites cannot send. */
  headers: (): Record<string, string> => ({ "Muster-Session": "cookie" }),
  /** Notifies subscribers that the gateway no longer accepts the session. */
  refused(): void {
    for (const listener of listeners) listener();
  },
  onRefused(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
