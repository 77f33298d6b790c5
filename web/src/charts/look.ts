/** How plots by ECharts look. */
import { rgbToken } from "@/parts/theme";

/** A tooltip on the canvas: what it says is text, never markup. */
export function tip() {
  return { backgroundColor: rgbToken("--raised"), borderColor: rgbToken("--line"), textStyle: { color: rgbToken("--ink"), fontSize: 12 }, renderMode: "richText" as const };
}
