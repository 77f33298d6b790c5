/** Tells the gateway which paths are the application's: for these alone it answers with the page. */
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
