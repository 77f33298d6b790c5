/**
 * By what this page's requests count: the session's cookie, which no script can read, or a token that was typed in.
 * A token is held here alone and never in the page's storage, so a reload forgets it (decision 0190).
 */
type Listener = () => void;

const HEADER = "Muster-Session";
const listeners = new Set<Listener>();
let token: string | null = null;

export const credential = {
  /** What every request says of who asks. */
  headers(): Record<string, string> {
    return token === null ? { [HEADER]: "cookie" } : { Authorization: `Bearer ${token}` };
  },
  /** The protocols of a WebSocket, which can carry no header. */
  protocols(): string[] {
    return token === null ? ["muster.v1"] : ["muster.v1", `bearer.${token}`];
  },
  useToken(given: string): void {
    token = given;
  },
  forget(): void {
    token = null;
  },
  /** The gateway does not know us any more: whoever shows a page learns it. */
  refused(): void {
    for (const listener of listeners) listener();
  },
  onRefused(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
