import { describe, expect, it } from "vitest";
import { timeMarks } from "@/training/timeAxis";
import { phasesUntil, describePhase, uploadsOf } from "@/training/phases";

const AT = Date.parse("2026-11-27T10:20:30Z");

function labels(seconds: number, zoneMs = 0): string[] {
  return timeMarks(AT, AT + 1000 * seconds, 6, zoneMs).map(({ label }) => label);
}

describe("the marks of a time axis", () => {
  it("are at round times and limited in number", () => {
    expect(labels(60)).toEqual(["10:20:30", "10:20:40", "10:20:50", "10:21:00", "10:21:10", "10:21:20", "10:21:30"]);
    expect(labels(1.2)).toEqual(["10:20:30.0", "10:20:30.2", "10:20:30.4", "10:20:30.6", "10:20:30.8", "10:20:31.0", "10:20:31.2"]);
    expect(labels(3600)).toEqual(["10:30", "10:40", "10:50", "11:00", "11:10", "11:20"]);
    expect(labels(5 * 86400)).toEqual(["2026-11-28", "2026-11-29", "2026-11-30", "2026-12-01", "2026-12-02"]);
    for (const days of [10, 100, 1000, 5000]) expect(labels(days * 86400).length).toBeLessThanOrEqual(7);
  });

  it("are in the user's time zone", () => {
    const [first] = timeMarks(AT, AT + 6 * 3_600_000, 3, 5.5 * 3_600_000);
    expect(first).toEqual({ at: Date.parse("2026-11-27T10:30:00Z"), label: "16:00" });
  });
});

describe("an upload that waits", () => {
  it("reaches up to now and has a reason", () => {
    const told = [{ kind: "uploading_checkpoint" as const, run: 1, began_at: new Date(AT).toISOString(), ended_at: null, within: "training" as const, step: 7, reason: "status 500", image: null }];
    const [upload] = uploadsOf(phasesUntil(AT + 5000, told));
    expect(upload && describePhase(upload)).toBe("run 1 uploading checkpoint of step 7 5 s, waits: status 500");
  });
});
