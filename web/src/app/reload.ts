/** Reloads the page once if a chunk is missing, because an upgrade has replaced the build. */
const KEPT = "muster.reloaded";
const AGAIN_MS = 60_000;

export function setUpReload(): void {
  addEventListener("vite:preloadError", (event) => {
    const last = Number(sessionStorage.getItem(KEPT) ?? 0);
    if (Date.now() - last < AGAIN_MS) return;
    event.preventDefault();
    sessionStorage.setItem(KEPT, String(Date.now()));
    location.reload();
  });
}
