// Runs before the first paint, so that a dark page never flashes white.
(function () {
  var kept = null;
  try {
    kept = localStorage.getItem("muster.theme");
  } catch (error) {
    // Storage may be blocked: the system's theme is used then.
  }
  var dark = kept === "dark" || (kept !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
