/** Common styles of ECharts plots. */
import { rgbToken } from "@/parts/theme";

/** A tooltip that is drawn on the canvas, so that its content is text, never markup. */
export function tip() {
  return { backgroundColor: rgbToken("--raised"), borderColor: rgbToken("--line"), textStyle: { color: rgbToken("--ink"), fontSize: 12 }, renderMode: "richText" as const };
}
