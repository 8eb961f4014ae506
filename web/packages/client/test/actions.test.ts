import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  BlockConflict,
  ConfirmationRequired,
  InlayClient,
  InlayError,
  newKey,
  violationsOf,
} from "../src/index.ts";

interface Sent {
  body: Record<string, unknown>;
  keepalive: boolean | undefined;
}

/** A client whose requests are answered from a list, the last answer for ever. */
function client(...answers: (() => Response | Promise<Response>)[]) {
  const sent: Sent[] = [];
  const fetch = (async (_: RequestInfo | URL, init: RequestInit = {}) => {
    sent.push({ body: JSON.parse(String(init.body)), keepalive: init.keepalive });
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    if (!answer) throw new Error("unexpected request");
    return answer();
  }) as typeof globalThis.fetch;
  return { client: new InlayClient({ fetch }), sent };
}

const refuse =
  (status: number, code: string, details?: object, headers: HeadersInit = {}) =>
  () =>
    Response.json(
      { error: { code, message: code, retryable: false, traceId: "t", details } },
      { status, headers },
    );
const lost = () => Promise.reject(new TypeError("Failed to fetch"));
const answer = {
  status: "done",
  msgId: "m",
  conversationId: "c",
  block: { id: "b", rev: 2, state: { status: "done", locked: true } },
};
const done = () => Response.json(answer);
const call = { msgId: "m", blockId: "b", actionId: "submit", payload: { a: 1 }, rev: 1 };

/** Lets timers run until the work is done. */
async function settle<T>(work: Promise<T>): Promise<T> {
  let over = false;
  const mark = () => {
    over = true;
  };
  work.then(mark, mark);
  for (let t = 0; !over && t < 200_000; t += 100) await vi.advanceTimersByTimeAsync(100);
  expect(over, "still waiting").toBe(true);
  return work;
}
const failure = (work: Promise<unknown>) =>
  settle(
    work.then(
      () => expect.unreachable("it went through"),
      (e: unknown) => e as InlayError,
    ),
  );

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("an action", () => {
  test("is sent with a key and a trace of its own", async () => {
    const { client: c, sent } = client(done);
    expect(await c.action(call)).toEqual(answer);
    await c.action(call);
    expect(sent[0]?.body).toMatchObject(call);
    const ids = sent.flatMap(({ body }) => [body.idempotencyKey, body.traceId]);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(ids).size).toBe(4);
    expect(newKey()).not.toBe(newKey());
  });

  test("that the network lost is sent again under the same key", async () => {
    const cut = () => new Response('{"status":"do', { status: 200 });
    const { client: c, sent } = client(lost, cut, refuse(503, "shutting_down"), done);
    expect(await settle(c.action({ ...call, idempotencyKey: "k", traceId: "x" }))).toEqual(answer);
    expect(sent.map(({ body }) => [body.idempotencyKey, body.traceId])).toEqual(
      Array(4).fill(["k", "x"]),
    );
  });

  test("gives up in the end, and at once where there is no network", async () => {
    const { client: c, sent } = client(lost);
    expect(await failure(c.action(call))).toMatchObject({ code: "network", retryable: true });
    expect(sent).toHaveLength(4);
    vi.stubGlobal("navigator", { onLine: false });
    const error = await c.action(call).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "offline", status: 0, retryable: true });
    expect(sent).toHaveLength(4);
  });

  test("waits for what runs, as long as the server says", async () => {
    const busy = refuse(409, "turn_running", { msgId: "m_9" }, { "Retry-After": "5" });
    const { client: c, sent } = client(busy, refuse(409, "action_running"), done);
    const started = Date.now();
    await settle(c.action(call));
    expect(sent).toHaveLength(3);
    expect(Date.now() - started).toBeGreaterThanOrEqual(6_000);
    const patient = client(busy);
    expect(await failure(patient.client.action(call))).toMatchObject({ code: "turn_running" });
    expect(Date.now() - started).toBeLessThan(90_000);
  });

  test("that definitely failed is not sent again", async () => {
    for (const refusal of [
      refuse(502, "action_failed", { feedback: { failureToast: "Sold out" } }),
      refuse(429, "rate_limited", undefined, { "Retry-After": "1" }),
      refuse(403, "action_forbidden"),
      refuse(422, "idempotency_conflict"),
    ]) {
      const { client: c, sent } = client(refusal, done);
      expect(await failure(c.action(call))).toBeInstanceOf(InlayError);
      expect(sent).toHaveLength(1);
    }
  });

  test("can be called off", async () => {
    const { client: c, sent } = client(refuse(409, "action_running"));
    const stop = new AbortController();
    const work = c.action(call, { signal: stop.signal }).catch((e: unknown) => e);
    await vi.advanceTimersByTimeAsync(500);
    stop.abort(new Error("enough"));
    expect(await work).toEqual(new Error("enough"));
    expect(sent).toHaveLength(1);
  });

  test("that needs the person's word says what to ask", async () => {
    const details = { confirmToken: "tok", expiresAt: 99, text: "Pay 20?", reason: "missing" };
    const { client: c } = client(refuse(428, "confirmation_required", details));
    const error = await failure(c.action(call));
    expect(error).toBeInstanceOf(ConfirmationRequired);
    expect(error).toMatchObject({ ...details, code: "confirmation_required", traceId: "t" });
  });

  test("on a block that has changed brings the block", async () => {
    const state = { status: "done", locked: true };
    const acted = client(
      refuse(409, "already_submitted", { block: { id: "b", rev: 3, state }, result: 7 }),
    );
    const first = await failure(acted.client.action(call));
    expect(first).toBeInstanceOf(BlockConflict);
    expect(first).toMatchObject({ block: { rev: 3, state }, result: 7 });
    const whole = { id: "b", type: "form", version: 1, status: "done", rev: 4, state };
    const stale = client(refuse(412, "stale_block", { block: whole }));
    expect(await failure(stale.client.action(call))).toMatchObject({ block: whole, status: 412 });
  });

  test("with a wrong payload names the members", async () => {
    const violations = [{ path: "/reason", message: "too long" }, { path: 3 }];
    const { client: c } = client(refuse(400, "action_payload_invalid", { violations }));
    const error = await failure(c.action(call));
    expect(violationsOf(error)).toEqual([{ path: "/reason", message: "too long" }]);
    expect(violationsOf(new Error("x"))).toEqual([]);
  });

  test("that goes on elsewhere says where", async () => {
    const { client: c } = client(() =>
      Response.json({ msgId: "m_2", conversationId: "c", userMessageId: "m_1" }, { status: 202 }),
    );
    expect(await c.action(call)).toMatchObject({ status: "accepted", msgId: "m_2" });
  });
});

test("telemetry never fails, and outlives the page", async () => {
  const { client: c, sent } = client(lost);
  expect(c.telemetry("b", "wallet", "route")).toBeUndefined();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toEqual([
    { body: { blockId: "b", itemId: "wallet", action: "route" }, keepalive: true },
  ]);
  const failing = new InlayClient({ headers: () => Promise.reject(new Error("no token")) });
  expect(() => failing.telemetry("b", "wallet", "route")).not.toThrow();
  await vi.advanceTimersByTimeAsync(0);
});
