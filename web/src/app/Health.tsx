import { useQuery } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { keys } from "@/api/keys";
import type { PlatformHealth, ServiceCheck } from "@/api/types";
import { Icon } from "@/parts/Icon";
import css from "./Health.module.css";

/** Polled, unlike all other data, because events cannot report it while the bus is down. */
const EVERY_MS = 15_000;

/** A banner on every page while the platform is degraded: the effect for users, and the failing checks for operators. */
export function Health() {
  const { data } = useQuery({
    queryKey: keys.health,
    queryFn: ({ signal }) => ask(api.GET("/v1/health/platform", { signal })),
    refetchInterval: EVERY_MS,
    retry: false,
  });
  return data?.state === "degraded" ? <Degraded health={data} /> : null;
}

export function Degraded({ health }: { health: PlatformHealth }) {
  const problems = problemsOf(health.checks ?? []);
  return (
    <div className={css.banner} role="status">
      <Icon name="warning" size={16} />
      <div>
        <b>Degraded.</b> {health.summary}
        {problems.length > 0 && (
          <details>
            <summary>Failing checks</summary>
            <ul>
              {problems.map((one) => (
                <li key={`${one.name} ${one.reason}`}>
                  <code>{one.name}</code> {one.reason} <span>({one.services.join(", ")})</span>
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </div>
  );
}

interface Problem {
  name: string;
  reason: string;
  services: string[];
}

/** The failing checks, each reason once with the services that report it. */
export function problemsOf(checks: readonly ServiceCheck[]): Problem[] {
  const found = new Map<string, Problem>();
  for (const { service, name, ok, reason } of checks) {
    if (ok) continue;
    const key = `${name} ${reason ?? ""}`;
    const one = found.get(key) ?? { name, reason: reason ?? "", services: [] };
    one.services.push(service);
    found.set(key, one);
  }
  return [...found.values()];
}
