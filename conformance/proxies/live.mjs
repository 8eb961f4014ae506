// Reads a server through what stands before it elsewhere: a proxy that hands on
// byte by byte, and nginx as it is installed, which buffers responses. Both must
// hand on what the server wrote, when it wrote it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { start } from "../binary.mjs";
import { arrived, cursor, nginx, read, silence, splitting, upTo } from "./reader.mjs";

const sales = "展示 2026Q3 各区域销售额";
const slow = "生成一份耗时的报告";
const chart = "inlay.chart@1";

let server, bytes, buffered, ways;

before(async () => {
  // Silence is told soon, and nginx does not wait long for something to be told.
  server = await start({ INLAY_LIMITS_HEARTBEAT: "150ms" });
  bytes = await splitting(server.base);
  buffered = await nginx(server.base, "proxy_read_timeout 1500ms;");
  ways = { "byte by byte": bytes.base, nginx: buffered.base };
});

after(async () => {
  await bytes?.stop();
  await buffered?.stop();
  await server?.stop();
});

const post = (base, [path, body, headers = {}]) =>
  fetch(base + path, { method: "POST", headers: { "content-type": "application/json", "accept-language": "zh", ...headers }, body: JSON.stringify(body) });

const input = (key, messages) => ({
  threadId: `thread-${key}`, runId: `run-${key}`, messages, tools: [], context: [], state: {}, forwardedProps: { capabilities: [chart] },
});

/** A dialect that goes on after a number. */
const numbered = (dialect, path, query, text) => ({
  ask: (question, key) => [path + query, { input: { text: question } }, { "idempotency-key": key }],
  resume: (base, { message, after }) => fetch(`${base}/v1/messages/${message}/events${query}${query ? "&" : "?"}dialect=${dialect}&after=${after}`),
  text,
});

// How each dialect is asked, so that who asks with one key twice reads one answer,
// how its clients come back, and what its first words look like.
const dialects = {
  native: numbered("native", "/v1/chat", "", /"delta":"[^"]/),
  ubp: numbered("ubp", "/v1/chat/stream", `?capabilities=${chart}`, /"text":"[^"]/),
  cards: numbered("cards", "/v1/chat/cards", "", /"markdown":"[^"]/),
  agui: {
    ask: (question, key) => ["/v1/ag-ui", input(key, [{ id: `said-${key}`, role: "user", content: question }])],
    resume: (base, { key }) => post(base, ["/v1/ag-ui/connect", input(key, [])]),
    text: /"TEXT_MESSAGE_CONTENT"/,
    // The whole thread is told anew: what is held in the end is the same.
    held: (frames) => held(frames),
  },
  aisdk: {
    ask: (question, key) => [
      "/v1/ai-sdk/chat",
      {
        id: `chat-${key}`, trigger: "submit-message", capabilities: [chart],
        messages: [{ id: `said-${key}`, role: "user", parts: [{ type: "text", text: question }] }],
      },
    ],
    resume: (base, { key, after }) => fetch(`${base}/v1/ai-sdk/chat/chat-${key}/stream?capabilities=${chart}&after=${after}`),
    text: /"text-delta"/,
  },
};

/** What a client of AG-UI holds of the assistant's, in whatever order, and how its last run ended. */
function held(frames) {
  let messages = new Map();
  let end;
  for (const [, json] of frames.matchAll(/^data: (.*)$/gm)) {
    const { type, messageId, ...event } = JSON.parse(json);
    switch (type) {
      case "MESSAGES_SNAPSHOT":
        messages = new Map(event.messages.filter((m) => m.role !== "user").map((m) => [m.id, m.content ?? ""]));
        break;
      case "TEXT_MESSAGE_START":
        if (!messages.has(messageId)) messages.set(messageId, "");
        break;
      case "TEXT_MESSAGE_CONTENT":
        messages.set(messageId, messages.get(messageId) + event.delta);
        break;
      case "ACTIVITY_SNAPSHOT":
        messages.set(messageId, event.content);
        break;
      case "TOOL_CALL_START":
        messages.set(event.toolCallId, "");
        break;
      case "TOOL_CALL_RESULT":
        messages.set(messageId, event.content);
        break;
      case "RUN_FINISHED":
        end = event.result;
        break;
      case "RUN_STARTED":
      case "TEXT_MESSAGE_END":
      case "TOOL_CALL_ARGS":
      case "TOOL_CALL_END":
        break;
      default:
        throw new Error(`${type} is not expected here`);
    }
  }
  return { messages, end };
}

/** How long before the end the first words came, in milliseconds. */
const ahead = (stream, { text }) => stream.chunks.at(-1).at - arrived(stream, text);

/** Two streams are one, or the first frame that differs is told. */
function same(got, want, where = "") {
  const [a, b] = [got.split("\n\n"), want.split("\n\n")];
  const at = b.findIndex((frame, i) => frame !== a[i]);
  if (at >= 0 || a.length !== b.length) assert.fail(`${where} frame ${at} of ${b.length} (${a.length}): ${a[at]} instead of ${b[at]}`);
}

describe("what stands in between", { concurrency: true }, () => {
  for (const [name, dialect] of Object.entries(dialects)) {
    describe(name, () => {
      test("the same frames arrive through every proxy, when they are written", async () => {
        const asked = dialect.ask(sales, randomUUID());
        const first = await post(server.base, asked);
        const [direct, ...others] = await Promise.all([
          read(first),
          ...Object.values(ways).map(async (base) => read(await post(base, asked))),
        ]);
        assert.equal(direct.status, 200, direct.text);
        assert.ok(direct.frames.includes("华东"), "the answer has no regions");
        Object.keys(ways).forEach((way, i) => {
          const through = others[i];
          assert.equal(through.status, 200, way);
          assert.equal(through.headers.get("x-message-id"), direct.headers.get("x-message-id"), way);
          assert.match(through.headers.get("content-type"), /^text\/event-stream/, way);
          assert.match(through.headers.get("cache-control"), /no-transform/, way);
          same(through.frames, direct.frames, way);
          // The words come while the answer is written: well before its end.
          assert.ok(ahead(through, dialect) > ahead(direct, dialect) / 2, `${way}: ${ahead(through, dialect)} ms before the end, and ${ahead(direct, dialect)} ms`);
        });
        // The first proxy does what it is here for.
        assert.ok(others[0].chunks.length > 3 * direct.chunks.length, `${others[0].chunks.length} chunks of ${direct.chunks.length}`);
      });

      for (const cut of [1, 900, 3000]) {
        test(`a connection that breaks after ${cut} bytes goes on through another proxy`, async () => {
          const key = randomUUID();
          const [path, body, headers] = dialect.ask(sales, key);
          const whole = post(server.base, [path, body, headers]).then((response) => read(response));
          const part = await read(await post(bytes.base, [path, body, { ...headers, "x-cut": `${cut}` }]));
          assert.ok(part.broken);
          const after = cursor(part.frames) ?? 0;
          const rest = await read(await dialect.resume(buffered.base, { key, message: part.headers.get("x-message-id"), after }));
          assert.equal(rest.status, 200);
          const direct = await whole;
          if (dialect.held) {
            const want = dialect.held(direct.frames);
            assert.equal(want.end.finishReason, "stop");
            assert.deepEqual(dialect.held(rest.frames), want);
            return;
          }
          same((after ? upTo(part.frames, after) : "") + rest.frames, direct.frames);
        });
      }

      test("comments keep a silent stream alive", async () => {
        const response = await post(buffered.base, dialect.ask(slow, randomUUID()));
        const stream = await read(response, { until: (text) => /slow_report/.test(text) });
        assert.match(stream.text, /slow_report/);
        assert.ok(!stream.broken);
        assert.ok(stream.pings > 3, `${stream.pings} comments`);
        // Longer than nginx waits.
        assert.ok(silence(stream) > 1500, `${silence(stream)} ms`);
        await post(server.base, [`/v1/messages/${response.headers.get("x-message-id")}/stop`, {}]);
      });
    });
  }
});

test("nginx holds back what the server does not ask it to hand on", async () => {
  const asked = dialects.ubp.ask(sales, randomUUID());
  const first = await post(server.base, asked);
  const [direct, held] = await Promise.all([read(first), post(`${buffered.base}/deaf`, asked).then((response) => read(response))]);
  same(held.frames, direct.frames);
  assert.ok(ahead(held, dialects.ubp) < ahead(direct, dialects.ubp) / 2, `${ahead(held, dialects.ubp)} ms before the end, and ${ahead(direct, dialects.ubp)} ms`);
});
