/** An error as the gateway reports it (RFC 9457), or of a failed connection. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly place: string | undefined;
  readonly hint: string | undefined;
  readonly traceId: string | undefined;

  constructor(details: Partial<ProblemDetails> & { status: number; code: string; detail: string }) {
    super(details.detail);
    this.name = "Problem";
    this.status = details.status;
    this.code = details.code;
    this.place = details.place ?? undefined;
    this.hint = details.hint ?? undefined;
    this.traceId = details.trace_id ?? undefined;
  }

  /** True if the same request may succeed later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503 || this.status === 504;
  }
}

export interface ProblemDetails {
  status: number;
  code: string;
  detail: string;
  place?: string | null;
  hint?: string | null;
  trace_id?: string | null;
}

/** Returns the problem in a response body; a generic one if the body is not the gateway's (for example a proxy's page). */
export function problemOf(status: number, body: unknown): Problem {
  if (typeof body === "object" && body !== null && "code" in body && "detail" in body) {
    const details = body as ProblemDetails;
    return new Problem({ ...details, status });
  }
  return new Problem({ status, code: "unexpected", detail: `The platform responded with status ${status} and no explanation` });
}

/** Converts an error of a changing request: if the connection failed, it is unknown whether the change was stored. */
export function lost(thrown: unknown): unknown {
  if (!isNetworks(thrown)) return thrown;
  return new Problem({
    status: 0,
    code: "unreachable",
    detail: "The connection to the platform failed. The change may have been applied, or may still be",
    hint: "check whether it was applied before you repeat it",
  });
}

function isNetworks(thrown: unknown): boolean {
  return thrown instanceof TypeError && /fetch|network|load failed/i.test(thrown.message);
}

/** Converts any thrown value to a Problem. */
export function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (isNetworks(thrown)) {
    return new Problem({
      status: 0,
      code: "unreachable",
      detail: "The platform cannot be reached",
      hint: "this page reconnects automatically",
    });
  }
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return new Problem({ status: 500, code: "broken_page", detail });
}
