import { Gate } from "@/session/Gate";
import { LiveProvider } from "@/live/LiveProvider";
import { Shell } from "./Shell";

/** The application is rendered only for signed-in users. */
export function Root() {
  return (
    <Gate>
      <LiveProvider>
        <Shell />
      </LiveProvider>
    </Gate>
  );
}
