// Before anything is drawn, so that a dark page never flashes white.
(function () {
  var kept = null;
  try {
    kept = localStorage.getItem("muster.theme");
  } catch (error) {
    // Storage may be closed to pages; the system's choice is taken then.
  }
  var dark = kept === "dark" || (kept !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
