import { expect, it } from "vitest";
import type { Curve } from "@/charts/curve";
import { axisOf } from "@/charts/raster";
import { Sheet, type Manner } from "@/charts/sheet";

const [WIDTH, HEIGHT] = [40, 20];
const MANNER: Manner = { xAxis: axisOf(0, 40, 0, WIDTH, false), yAxis: axisOf(0, 1, HEIGHT, 0, false), colours: [[200, 0, 0], [0, 0, 200]], alpha: 0.5, thick: 1 };

function line(id: string, points: number, tone = 0, height = (at: number) => (at % 7) / 7) {
  const x = Float64Array.from({ length: points }, (_, at) => at);
  return { curve: { id, label: id, x, y: x.map(height) } satisfies Curve, tone };
}

function made() {
  const pixels = new Uint8ClampedArray(WIDTH * HEIGHT * 4);
  return { pixels, sheet: new Sheet(pixels, WIDTH, HEIGHT, 2) };
}

/** What a sheet shows that was given these at once. */
function whole(lines: ReturnType<typeof line>[], manner = MANNER) {
  const { pixels, sheet } = made();
  sheet.show(lines, manner);
  return pixels;
}

it("shows curves that grew as it shows them whole, and touches only where they grew", () => {
  const { pixels, sheet } = made();
  expect(sheet.show([line("a", 20), line("b", 25, 1)], MANNER)).toEqual([0, WIDTH - 1]);
  const grown = [line("a", 30), line("b", 25, 1), line("c", 22)];
  expect(sheet.show(grown.slice(0, 2), MANNER)).toEqual([19, 29]);
  expect(sheet.show(grown, MANNER)).toEqual([0, 21]);
  expect(pixels).toEqual(whole(grown));
  expect(sheet.show(grown, MANNER)).toBeNull();
});

it("is put together anew where a curve is another, has gone, or stands elsewhere", () => {
  const { pixels, sheet } = made();
  const before = [line("a", 20), line("b", 20, 1)];
  const higher = { ...MANNER, yAxis: axisOf(0, 2, HEIGHT, 0, false) };
  const changes: [ReturnType<typeof line>[], Manner][] = [
    [[line("a", 20, 0, () => 0.5), line("b", 20, 1)], MANNER],
    [[line("a", 12), line("b", 20, 1)], MANNER],
    [[line("a", 20)], MANNER],
    [[line("a", 20, 1), line("b", 20, 1)], MANNER],
    [before, higher],
  ];
  for (const [after, manner] of changes) {
    sheet.show(before, MANNER);
    sheet.show(after, manner);
    expect(pixels).toEqual(whole(after, manner));
  }
});
