import { expect, it } from "vitest";
import { importances, isWide } from "@/charts/relations";

it("gives the share to the hyperparameter that determines the results, and none to chance", () => {
  const samples = Array.from({ length: 60 }, (_, at) => ({
    id: String(at),
    label: "",
    result: (at % 10) / 10 + 0.01 * Math.sin(at * 7),
    values: { lr: (at % 10) / 10, luck: ((at * 37) % 60) / 60, kind: at < 30 ? "a" : "b", still: 1 },
  }));
  const found = importances([...samples, { ...samples[0]!, result: NaN }], ["luck", "lr", "kind", "still"]);
  expect(found[0]?.name).toBe("lr");
  expect(found[0]?.share).toBeGreaterThan(0.8);
  for (const { name, share } of found.slice(1)) expect(share, name).toBeLessThan(0.15);
});

it("uses a logarithmic axis for positive values over decades", () => {
  expect([isWide([1e-4, 1e-1]), isWide([0, 1000]), isWide([8, 16]), isWide(["a"])]).toEqual([true, false, false, false]);
});
