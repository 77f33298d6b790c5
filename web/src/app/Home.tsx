import { Navigate } from "@tanstack/react-router";
import { usePlaces } from "./nav";

/** Leads to the first room that is this reader's. */
export function Home() {
  const [first] = usePlaces();
  return first && <Navigate to={first.to} replace />;
}
