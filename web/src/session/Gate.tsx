import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { asProblem } from "@/api/problem";
import { Loading, Trouble } from "@/parts/Notes";
import { credential } from "@/api/credential";
import { meQuery } from "./session";
import { SignIn } from "./SignIn";
import { SignInLink } from "./SignInLink";
import { arrival, onLink, openedCode } from "./ways";

/** Renders the application for signed-in users, otherwise the sign-in page at the requested URL. */
export function Gate({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const me = useQuery(meQuery);
  const [isRefused, setRefused] = useState(false);
  useEffect(() => credential.onRefused(() => setRefused(true)), []);
  // In an array, because React would call a state that is a function.
  const [[arrive], setArrival] = useState(() => [arrival()]);
  const [code, setCode] = useState(openedCode);
  useEffect(() => onLink(setCode), []);
  const [lost, setLost] = useState<unknown>(null);
  useEffect(() => {
    if (!arrive) return;
    arrive()
      .then((back) => location.replace(back))
      .catch((thrown: unknown) => {
        setLost(thrown);
        setArrival([null]);
        history.replaceState(null, "", "/");
      });
  }, [arrive]);
  const enter = async () => {
    client.clear();
    await client.fetchQuery(meQuery);
    setRefused(false);
  };
  if (arrive || (code !== null && me.isPending)) return <Loading label="signing in" />;
  if (code !== null) return <SignInLink key={code} code={code} me={isRefused ? undefined : me.data} onLeave={() => setCode(null)} />;
  if (lost !== null && me.data === undefined) return <SignIn onEnter={async () => (await enter(), setLost(null))} hasExpired={false} failure={lost} />;
  if (isRefused || (me.error && asProblem(me.error).status === 401)) return <SignIn onEnter={enter} hasExpired={me.data !== undefined} />;
  if (me.data !== undefined) return children;
  if (me.error) return <Trouble error={me.error} retry={() => void me.refetch()} title="The platform does not respond" />;
  return <Loading label="signing in" />;
}
