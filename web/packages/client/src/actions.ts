import { InlayError, networkError, responseError } from "./errors.ts";
import { backoff, Link, offline, pause } from "./stream.ts";
import type { ActionResult, Block } from "./types.ts";

/** How often a request that the network lost is sent. */
const TRIES = 4;
/** How long an action waits for a turn or another action to end. */
const PATIENCE_MS = 60_000;

/**
 * The server wants the person asked first (428). The same request, with its
 * key and the token, goes on.
 */
export class ConfirmationRequired extends InlayError {
  /** What the person agrees to, in their language. */
  readonly text: string;
  /** Good once, and until `expiresAt` (epoch ms). */
  readonly confirmToken: string;
  readonly expiresAt: number | undefined;
  /** Why a token that was sent did not do: expired, used, mismatch. */
  readonly reason: string | undefined;

  constructor(error: InlayError) {
    super(error.message, error);
    const { text, confirmToken, expiresAt, reason } = error.details ?? {};
    this.text = typeof text === "string" ? text : "";
    this.confirmToken = String(confirmToken ?? "");
    this.expiresAt = typeof expiresAt === "number" ? expiresAt : undefined;
    this.reason = typeof reason === "string" ? reason : undefined;
  }
}

/** The block is not as the caller knows it: acted on already (409), or changed meanwhile (412). */
export class BlockConflict extends InlayError {
  /** The block as it stands; of one that was acted on, its state alone. */
  readonly block: Pick<Block, "id" | "rev" | "state"> & Partial<Block>;
  /** What the call that came first was answered. */
  readonly result: unknown;

  constructor(error: InlayError, block: BlockConflict["block"]) {
    super(error.message, error);
    this.block = block;
    this.result = error.details?.result;
  }
}

/** A member of a payload that the server does not accept. */
export interface Violation {
  /** A JSON Pointer into the payload. */
  path: string;
  message: string;
}

/** The members that a refusal names, if that is what it is about. */
export function violationsOf(error: unknown): Violation[] {
  if (!(error instanceof InlayError) || error.code !== "action_payload_invalid") return [];
  const given = error.details?.violations;
  if (!Array.isArray(given)) return [];
  return given.filter(
    (v): v is Violation => typeof v?.path === "string" && typeof v.message === "string",
  );
}

/** 32 random hexadecimal digits: an idempotency key, or a trace id. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/**
 * Sends a request that carries an idempotency key until it is answered: again
 * when the network lost it, and when the server says that it is busy. Fails at
 * once while the browser knows that there is no network.
 */
export async function sendAction(
  send: (signal: AbortSignal) => Promise<Response>,
  signal?: AbortSignal,
): Promise<ActionResult> {
  const end = Date.now() + PATIENCE_MS;
  for (let lost = 0; ; ) {
    let wait: number;
    const link = new Link(signal);
    try {
      if (offline()) throw new TypeError("offline");
      const response = await link.within(send(link.signal));
      if (response.ok) return result(response.status, await response.json());
      const error = await responseError(response);
      const busy = error.code === "turn_running" || error.code === "action_running";
      // A 502 with a code is the action's own failure, and final.
      const passing = [502, 503, 504].includes(error.status) && error.code !== "action_failed";
      wait = 1000 * Number(response.headers.get("Retry-After") ?? Number.NaN);
      if (Number.isNaN(wait)) wait = busy ? 1000 : backoff(lost);
      if (passing) lost++;
      if (!(busy || (passing && lost < TRIES)) || Date.now() + wait > end) throw refine(error);
    } catch (cause) {
      if (signal?.aborted || cause instanceof InlayError) throw networkError(cause, signal);
      if (offline()) {
        throw new InlayError("offline", { code: "offline", retryable: true, cause });
      }
      wait = backoff(lost);
      if (++lost >= TRIES) throw networkError(cause, signal);
    } finally {
      link.close();
    }
    await pause(wait, signal);
    if (signal?.aborted) throw signal.reason;
  }
}

function result(status: number, body: Partial<ActionResult>): ActionResult {
  return { ...body, status: body.status ?? (status === 202 ? "accepted" : "done") } as ActionResult;
}

function refine(error: InlayError): InlayError {
  if (error.status === 428) return new ConfirmationRequired(error);
  const block = error.details?.block;
  if (typeof block === "object" && block !== null && "id" in block && "rev" in block) {
    return new BlockConflict(error, block as BlockConflict["block"]);
  }
  return error;
}
