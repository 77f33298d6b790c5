/** The story in a real browser, before a running platform: `MUSTER_URL`, `MUSTER_TOKEN`, `npm run story`. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["tests/story/**/*.story.ts"], environment: "node", testTimeout: 90_000, hookTimeout: 180_000, fileParallelism: false, bail: 1 },
});
