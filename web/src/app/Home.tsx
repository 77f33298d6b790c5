import { Navigate } from "@tanstack/react-router";
import { useSections } from "./nav";

/** Redirects to the first section that the user may see. */
export function Home() {
  const [first] = useSections();
  return first && <Navigate to={first.to} replace />;
}
