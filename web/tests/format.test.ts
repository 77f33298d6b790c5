import { describe, expect, it } from "vitest";
import { counted, formatAgo, formatBytes, formatDuration, formatMoment, formatMoney, formatNumber, formatPercent } from "@/parts/format";

describe("numbers", () => {
  it.each([
    [0.123456, "0.1235"],
    [0.00001234, "1.23e−5"],
    [12345678, "1.23e7"],
    [1234, "1,234"],
    [1234.5678, "1,235"],
    [-0.5, "−0.5"],
    [0, "0"],
    [NaN, "NaN"],
    [-Infinity, "−∞"],
    [null, "–"],
  ])("%s is read as %s", (value, said) => expect(formatNumber(value)).toBe(said));

  it("formats shares, sizes and money with units", () => {
    expect(formatPercent(0.256, 1)).toBe("25.6 %");
    expect([formatBytes(999), formatBytes(1_530_000), formatBytes(undefined)]).toEqual(["999 B", "1.53 MB", "–"]);
    expect([formatMoney(1234.5), formatMoney(0.0042), formatMoney(0)]).toEqual(["1,234.50", "0.0042", "0.00"]);
    expect([counted(1, "trial"), counted(2000, "trial")]).toEqual(["1 trial", "2,000 trials"]);
  });
});

describe("times", () => {
  it.each([
    [0.25, "250 ms"],
    [59, "59 s"],
    [61, "1 min 1 s"],
    [3600, "1 h"],
    [5400, "1 h 30 min"],
    [90_000, "1 d 1 h"],
    [null, "–"],
  ])("%s s last %s", (seconds, said) => expect(formatDuration(seconds)).toBe(said));

  it("are relative to now, or to the second in the user's time zone", () => {
    const now = new Date("2026-11-22T12:00:00Z");
    const after = (seconds: number) => formatAgo(new Date(now.getTime() - seconds * 1000), now);
    expect([after(2), after(50), after(7300), after(-120)]).toEqual(["now", "50 s ago", "2 h ago", "in 2 min"]);
    expect(formatMoment(now, "Asia/Tokyo")).toContain("21:00:00");
  });
});
