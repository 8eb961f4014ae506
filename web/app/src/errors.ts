import { isTextKey, type TextKey } from "./i18n/index.ts";

/** An error as the page gets it: from a request, a stream, or a message record. */
export interface Failure {
  code: string;
  message?: string;
  status?: number;
  retryable?: boolean;
  traceId?: string;
}

/** An error in words: what happened, and what helps. */
export interface Wording {
  kind: string;
  what: TextKey;
  cure: TextKey;
  traceId?: string;
}

/** Codes of the server and the kind of wording each has. Codes that are kinds themselves are not listed. */
const kinds: Record<string, string> = {
  offline: "network",
  network_error: "network",
  fetch_failed: "network",
  unauthenticated: "unauthorized",
  token_expired: "unauthorized",
  conversation_not_found: "not_found",
  message_not_found: "not_found",
  input_too_large: "too_large",
  payload_too_large: "too_large",
  body_too_large: "too_large",
  too_many_requests: "rate_limited",
  quota_exceeded: "rate_limited",
  bad_request: "invalid",
  invalid_request: "invalid",
  invalid_body: "invalid",
  invalid_input: "invalid",
  model_unauthorized: "model_auth",
  model_context_too_long: "model_context",
  model_content_rejected: "model_content",
  model_bad_request: "model_rejected",
  model_bad_response: "model_incomplete",
  lease_lost: "interrupted",
  turn_interrupted: "interrupted",
  turn_timeout: "timeout",
  model_empty_answer: "model_incomplete",
  request_too_large: "too_large",
  invalid_json: "invalid",
  unknown_field: "invalid",
  unsupported_media_type: "invalid",
  method_not_allowed: "invalid",
  invalid_capability_token: "invalid",
  idempotency_conflict: "invalid",
  unsupported_action_kind: "not_possible",
  action_not_found: "not_possible",
  not_retryable: "not_possible",
  not_refreshable: "not_possible",
  confirmation_required: "not_possible",
  action_payload_invalid: "invalid",
  action_forbidden: "forbidden",
  action_running: "busy",
  already_submitted: "already_done",
  stale_block: "already_done",
  not_paused: "already_done",
  asset_too_large: "file",
  asset_type_refused: "file",
  asset_quota: "file",
  asset_infected: "file",
  asset_not_ready: "file",
  asset_url_invalid: "file",
  asset_url_expired: "file",
  shutting_down: "busy",
  slow_reader: "busy",
  store_busy: "busy",
  store_full: "storage",
  read_only: "storage",
  internal: "server",
};

function kindOfStatus(status: number | undefined): string | null {
  if (status === undefined) return null;
  if (status === 0) return "network";
  if (status === 401) return "unauthorized";
  if (status === 403) return "forbidden";
  if (status === 404 || status === 410) return "not_found";
  if (status === 409) return null;
  if (status === 413) return "too_large";
  if (status === 429) return "rate_limited";
  if (status === 400 || status === 422) return "invalid";
  if (status >= 500) return "server";
  return null;
}

/**
 * Words an error. The code decides; a code this page does not know falls back
 * to its HTTP status. A server's own English message is never shown.
 */
export function wordError(failure: Failure): Wording {
  const code = failure.code.toLowerCase();
  const candidates = [kinds[code], code, kindOfStatus(failure.status), familyOf(code), "unknown"];
  for (const kind of candidates) {
    if (!kind) continue;
    const what = `error.${kind}.what`;
    const cure = `error.${kind}.cure`;
    if (isTextKey(what) && isTextKey(cure)) {
      return failure.traceId === undefined
        ? { kind, what, cure }
        : { kind, what, cure, traceId: failure.traceId };
    }
  }
  return { kind: "unknown", what: "error.unknown.what", cure: "error.unknown.cure" };
}

function familyOf(code: string): string | null {
  return code.startsWith("model_") ? "model_unavailable" : null;
}

/** Makes a {@link Failure} of anything that was thrown. A fetch that failed throws a TypeError. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof TypeError) return { code: "network", message: thrown.message };
  if (typeof thrown === "object" && thrown !== null && "code" in thrown) {
    const from = thrown as Record<string, unknown>;
    if (typeof from.code === "string") {
      const failure: Failure = { code: from.code };
      if (typeof from.message === "string") failure.message = from.message;
      if (typeof from.status === "number") failure.status = from.status;
      if (typeof from.retryable === "boolean") failure.retryable = from.retryable;
      if (typeof from.traceId === "string") failure.traceId = from.traceId;
      return failure;
    }
  }
  return { code: "unknown", message: thrown instanceof Error ? thrown.message : String(thrown) };
}

/** Whether an error says that the caller has to sign in. */
export function needsSignIn(failure: Failure): boolean {
  return failure.status === 401 || wordError(failure).kind === "unauthorized";
}
