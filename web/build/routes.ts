/** Writes the list of the application's paths, for which the gateway serves the page. */
import type { Plugin } from "vite";
import { SECTIONS } from "../src/app/sections.ts";

export function routes(): Plugin {
  return {
    name: "muster-routes",
    apply: "build",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "routes.json", source: JSON.stringify({ rooms: SECTIONS }) });
    },
  };
}
