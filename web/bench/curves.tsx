/** Part of the benchmark `web_curves`: the chart of the pages with curves that were never seen before, drawn as often as asked. */
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { CurveChart } from "@/charts/CurveChart";
import type { Curve } from "@/charts/curve";
import "@/styles/tokens.css";
import "@/styles/base.css";

declare global {
  interface Window {
    draw: (curves: number, points: number, seed: number) => Promise<number>;
  }
}

const root = createRoot(document.getElementById("root") as HTMLElement);

/** Losses that fall with noise, each in its own way; the same for the same seed. */
function make(curves: number, points: number, seed: number): Curve[] {
  let state = seed;
  const random = () => (state = (state * 1664525 + 1013904223) % 4294967296) / 4294967296;
  return Array.from({ length: curves }, (_, number) => {
    const [rate, floor, noise] = [1 + 6 * random(), random(), 0.08 * random()];
    const x = Float64Array.from({ length: points }, (_, at) => at);
    const y = Float64Array.from({ length: points }, (_, at) => floor + 2.5 * Math.exp((-rate * at) / points) + noise * (random() - 0.5));
    return { id: `t${number}`, label: `1.${number}`, x, y, tone: (number % 8) + 1 };
  });
}

/** Milliseconds from the moment that the page has the curves until the frame that shows them has been made. */
window.draw = async (curves, points, seed) => {
  const made = make(curves, points, seed);
  await frame();
  const began = performance.now();
  flushSync(() => root.render(<CurveChart label="loss" curves={made} xName="step" height={360} strong="t7" />));
  await frame();
  return performance.now() - began;
};

/** After the next frame is on the screen. */
function frame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}
