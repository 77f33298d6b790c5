import react from "@vitejs/plugin-react";
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { compressed } from "./build/compressed.ts";
import { configKeys } from "./build/configKeys.ts";
import { routes } from "./build/routes.ts";

const GATEWAY = process.env.MUSTER_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react(), configKeys(), routes(), compressed(resolve(import.meta.dirname, "dist"))],
  resolve: { alias: { "@": resolve(import.meta.dirname, "src") } },
  build: {
    target: "es2022",
    manifest: true,
    // A file within a page's address would need a policy that lets anything in.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    // The gateway counts a cookie only for pages of its own origin: the proxy keeps the browser's Host.
    proxy: Object.fromEntries(
      ["/v1", "/docs", "/openapi.json"].map((path) => [path, { target: GATEWAY, ws: true, changeOrigin: false }]),
    ),
  },
  test: { environment: "node", include: ["tests/**/*.test.{ts,tsx}"], restoreMocks: true },
});
