/** What went wrong, as the gateway says it (RFC 9457), or as we do where it could not be asked. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly place: string | undefined;
  readonly hint: string | undefined;
  readonly traceId: string | undefined;

  constructor(told: Partial<ProblemDetails> & { status: number; code: string; detail: string }) {
    super(told.detail);
    this.name = "Problem";
    this.status = told.status;
    this.code = told.code;
    this.place = told.place ?? undefined;
    this.hint = told.hint ?? undefined;
    this.traceId = told.trace_id ?? undefined;
  }

  /** True where the same request may succeed later. */
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

/** The problem in an answer's body; a plain one where the body is none of ours (a proxy's page). */
export function problemOf(status: number, body: unknown): Problem {
  if (typeof body === "object" && body !== null && "code" in body && "detail" in body) {
    const told = body as ProblemDetails;
    return new Problem({ ...told, status });
  }
  return new Problem({ status, code: "unexpected", detail: `the platform answered ${status} without saying why` });
}

/** What was thrown by a request that was to change something: where the connection failed, nobody knows whether it was stored. */
export function lost(thrown: unknown): unknown {
  if (!isNetworks(thrown)) return thrown;
  return new Problem({
    status: 0,
    code: "unreachable",
    detail: "the platform could not be reached; the change may have been stored and may still take effect",
    hint: "look whether it did before you repeat it",
  });
}

function isNetworks(thrown: unknown): boolean {
  return thrown instanceof TypeError && /fetch|network|load failed/i.test(thrown.message);
}

/** The problem behind whatever was thrown. */
export function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (isNetworks(thrown)) {
    return new Problem({
      status: 0,
      code: "unreachable",
      detail: "the platform could not be reached",
      hint: "the page goes on by itself once it can",
    });
  }
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return new Problem({ status: 500, code: "broken_page", detail });
}
