/** A request that the server refused, or that did not reach it (`status` 0, code `network`). */
export class InlayError extends Error {
  override readonly name = "InlayError";
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly traceId: string | undefined;
  readonly details: Record<string, unknown> | undefined;

  constructor(
    message: string,
    fields: {
      code: string;
      status?: number;
      retryable?: boolean;
      traceId?: string;
      details?: Record<string, unknown>;
      cause?: unknown;
    },
  ) {
    super(message, { cause: fields.cause });
    this.code = fields.code;
    this.status = fields.status ?? 0;
    this.retryable = fields.retryable ?? false;
    this.traceId = fields.traceId;
    this.details = fields.details;
  }
}

/** Reads the error of a response that is not ok; a proxy's page becomes `http_<status>`. */
export async function responseError(response: Response): Promise<InlayError> {
  const status = response.status;
  const passing = status === 429 || status === 408 || status >= 500;
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null && "error" in body) {
      const e = body.error as Partial<InlayError>;
      if (typeof e?.code === "string") {
        return new InlayError(e.message ?? e.code, {
          code: e.code,
          status,
          retryable: e.retryable ?? passing,
          traceId: e.traceId,
          details: e.details,
        });
      }
    }
  } catch {
    // Not JSON: the status has to do.
  }
  return new InlayError(`HTTP ${status}`, { code: `http_${status}`, status, retryable: passing });
}

/** Wraps what fetch threw; an abort by the caller is thrown on as it is. */
export function networkError(cause: unknown, signal?: AbortSignal | null): unknown {
  if (cause instanceof InlayError) return cause;
  if (signal?.aborted) return signal.reason ?? cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new InlayError(message, { code: "network", retryable: true, cause });
}
