import { Gate } from "@/session/Gate";
import { LiveProvider } from "@/live/LiveProvider";
import { Shell } from "./Shell";

/** Nothing of the application is there for who is not signed in. */
export function Root() {
  return (
    <Gate>
      <LiveProvider>
        <Shell />
      </LiveProvider>
    </Gate>
  );
}
