import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";
import { ask, api } from "@/api/client";
import type { ServiceCheck } from "@/api/types";
import { Degraded, problemsOf } from "@/app/Health";

const SINCE = "2026-11-01T12:00:00Z";
const AWAY = "the stream EVT does not accept messages";
const check = (service: string, name: string, reason: string | null): ServiceCheck => ({ service, name, ok: reason === null, reason, since: SINCE });
const SUMMARY = "The message bus does not accept messages.";

it("shows each reason once, with the services that report it", () => {
  const checks = [check("gateway", "bus", AWAY), check("gateway", "database", null), check("searcher", "bus", AWAY)];
  expect(problemsOf(checks)).toEqual([{ name: "bus", reason: AWAY, services: ["gateway", "searcher"] }]);
});

it("shows operators the reasons", () => {
  const shown = renderToStaticMarkup(createElement(Degraded, { health: { state: "degraded", summary: SUMMARY, since: SINCE, warnings: [], checks: [check("gateway", "bus", AWAY)] } }));
  expect(shown).toContain(SUMMARY);
  expect(shown).toContain(AWAY);
});

it("shows users only the effect", () => {
  const shown = renderToStaticMarkup(createElement(Degraded, { health: { state: "degraded", summary: SUMMARY, since: SINCE, warnings: [], checks: [] } }));
  expect(shown).toContain(SUMMARY);
  expect(shown).not.toContain("Failing checks");
});

it("reports that a change without a response may have been applied", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  vi.stubGlobal("location", { origin: "http://platform" });
  const path = { params: { path: { experiment: "1" } }, baseUrl: "http://platform" };
  await expect(ask(api.POST("/v1/experiments/{experiment}/pause", path))).rejects.toThrow("may have been applied, or may still be");
  await expect(ask(api.GET("/v1/experiments/{experiment}", path))).rejects.not.toThrow("may have been applied, or may still be");
  vi.unstubAllGlobals();
});
