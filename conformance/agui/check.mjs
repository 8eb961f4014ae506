// The golden streams of wire/agui, read by the published AG-UI clients over
// HTTP: what a client holds in the end must be the folded blocks, by the table
// of the package comment of wire/agui, and it must say nothing on the console.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import * as agui0 from "agui0";
import * as agui1 from "agui1";

const dir = new URL("../../wire/agui/testdata/golden/", import.meta.url);
const logs = readdirSync(dir)
  .filter((name) => name.endsWith(".fold.json"))
  .map((name) => name.slice(0, -".fold.json".length));
const user = { id: "m_user", role: "user", content: "Show sales" };

const read = (name) => readFileSync(new URL(name, dir), "utf8");
const folded = (log) => JSON.parse(read(`${log}.fold.json`));

// Which client reads which stream.
const readers = [
  { name: "client 0.0.59, both", lib: agui0, view: "both" },
  { name: "client 1.0.0, both", lib: agui1, view: "both" },
  { name: "client 1.0.0, v1", lib: agui1, view: "v1" },
  { name: "client 0.0.59, text", lib: agui0, view: "text" },
  { name: "client 1.0.0, text", lib: agui1, view: "text" },
];

// frames splits a stream into frames, with the id of each.
function frames(stream) {
  return stream
    .split("\n\n")
    .slice(0, -1)
    .map((text) => ({ text: `${text}\n\n`, id: Number(/^id: (\d+)$/m.exec(text)?.[1] ?? 0) }));
}

// How the server answers is in the query: the stream under a name, in pieces
// of so many bytes, broken off after an event, or ended after it. A request
// with Last-Event-ID gets what comes after that event.
let server;
let base;
const streams = new Map();

before(async () => {
  server = createServer(async (req, res) => {
    const url = new URL(req.url, "http://localhost");
    for await (const _ of req);
    const all = frames(streams.get(url.pathname));
    const last = Number(req.headers["last-event-id"] ?? 0);
    // The frames of an event before its last one have no id.
    const start = last === 0 ? 0 : all.findIndex((f) => f.id === last) + 1;
    const cut = Number(url.searchParams.get("cut") ?? 0);
    const stop = Number(url.searchParams.get("stop") ?? 0);
    const size = Number(url.searchParams.get("size") ?? 0);
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    let end = all.length;
    if (cut > 0 && last < cut) end = all.findIndex((f) => f.id === cut) + 1;
    if (stop > 0) end = all.findIndex((f) => f.id === stop) + 1;
    let body = Buffer.from(all.slice(start, end).map((f) => f.text).join(""));
    if (cut > 0 && last < cut && end < all.length) {
      const next = Buffer.from(all[end].text);
      body = Buffer.concat([body, next.subarray(0, next.length / 2)]);
      res.write(body, () => setImmediate(() => res.destroy()));
      return;
    }
    for (let i = 0; size > 0 && i < body.length; i += size) {
      res.write(body.subarray(i, i + size));
      if (i % (size * 16) === 0) await new Promise(setImmediate);
    }
    res.end(size > 0 ? undefined : body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${server.address().port}`;
});

after(() => server.close());

function serve(name, stream) {
  streams.set(`/${name}`, stream);
  return `${base}/${name}`;
}

// resuming is a fetch that reads on after the last event when a stream breaks.
// It holds frames back until the id of their event has come.
function resuming(count) {
  return async (url, init) => {
    const body = new ReadableStream({
      async start(controller) {
        let last = 0;
        for (;;) {
          const headers = last > 0 ? { ...init.headers, "Last-Event-ID": String(last) } : init.headers;
          const res = await fetch(url, { ...init, headers });
          const decoder = new TextDecoder();
          let text = "";
          try {
            for await (const chunk of res.body) {
              text += decoder.decode(chunk, { stream: true });
              for (const m of text.matchAll(/^id: (\d+)\n\n/gm)) last = Number(m[1]);
              const whole = /[^]*^id: \d+\n\n/m.exec(text);
              if (whole) {
                controller.enqueue(new TextEncoder().encode(whole[0]));
                text = text.slice(whole[0].length);
              }
            }
            controller.close();
            return;
          } catch {
            count.resumed++;
          }
        }
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  };
}

// run reads a stream with a real client and returns what came of it.
async function run(lib, url, { agent, fetch } = {}) {
  const noise = [];
  const kept = {};
  for (const level of ["log", "info", "warn", "error", "debug"]) {
    kept[level] = console[level];
    console[level] = (...args) => noise.push(`${level}: ${args.map(String).join(" ")}`);
  }
  const out = { noise, ends: [], outcomes: [], failed: undefined };
  agent ??= new lib.HttpAgent({ url, threadId: "c_1", initialMessages: [user], ...(fetch && { fetch }) });
  agent.url = url;
  try {
    await agent.runAgent(
      { runId: "r_1" },
      {
        onRunFinishedEvent: ({ event }) => {
          out.ends.push(event.result?.finishReason);
          out.outcomes.push(event.outcome?.type);
        },
        onRunErrorEvent: () => void out.ends.push("error"),
        onRunFailed: ({ error }) => void (out.failed = error),
      },
    );
  } catch (error) {
    out.failed = error;
  } finally {
    Object.assign(console, kept);
  }
  out.agent = agent;
  out.messages = agent.messages;
  return out;
}

const fullName = (type) => (type.includes(".") ? type : `inlay.${type}`);

// compare holds the messages of a client against folded blocks.
function compare(messages, blocks, text, view) {
  assert.deepEqual(messages[0], user);
  const rest = messages.slice(1);
  const tools = rest.filter((m) => m.toolCalls !== undefined || m.role === "tool");
  const thoughts = rest.filter((m) => m.role === "reasoning");
  const own = rest.filter((m) => !tools.includes(m) && !thoughts.includes(m));
  assert.deepEqual(
    own.filter((m) => !m.id.includes("~")).map((m) => m.id),
    blocks.map((b) => b.id),
  );
  for (const b of blocks) {
    // The last message of a block is what the block is now.
    const m = own.findLast((m) => m.id === b.id || m.id.startsWith(`${b.id}~`));
    assert.equal(m.metadata.inlay.blockId, b.id);
    assert.equal(typeof m.metadata.inlay.seq, "number");
    if (b.type !== "text" && view !== "text") {
      assert.equal(m.role, "activity");
      assert.equal(m.activityType, fullName(b.type));
      assert.deepEqual(m.content, b);
    } else {
      assert.equal(m.role, "assistant");
      assert.equal(m.content, b.type === "text" ? (b.payload ?? "") : text[b.id]);
    }
  }
  return { tools, thoughts };
}

function check(out, fold, view) {
  assert.equal(out.failed, undefined);
  assert.deepEqual(out.noise, []);
  const { tools, thoughts } = compare(out.messages, fold.blocks, fold.text, view);
  assert.equal(thoughts.map((m) => m.content).join(""), view === "text" ? "" : fold.reasoning);
  // Calls that the client is to run are its own, whatever it draws.
  const told = fold.tools.filter((tool) => view !== "text" || tool.client);
  assert.equal(tools.length, told.length + told.filter((tool) => tool.status !== "running").length);
  for (const tool of told) {
    const call = tools.find((m) => m.toolCalls?.[0].id.endsWith(`.${tool.id}`)).toolCalls[0];
    assert.equal(call.function.name, tool.name);
    if (!tool.client) assert.deepEqual(JSON.parse(call.function.arguments), {});
    else assert.notDeepEqual(JSON.parse(call.function.arguments), {});
    assert.equal(call.metadata.inlay.title, tool.title);
    assert.equal(call.metadata.inlay.sub ?? false, tool.sub ?? false);
    if (tool.status === "running") continue;
    const result = tools.find((m) => m.role === "tool" && m.toolCallId === call.id);
    assert.deepEqual(JSON.parse(result.content), {
      status: tool.status,
      ...(tool.durationMs && { durationMs: tool.durationMs }),
    });
  }
  assert.deepEqual(out.ends, fold.runs);
  const cancelled = view === "v1" ? "cancelled" : undefined;
  const called = view === "v1" ? "success" : undefined; // with the calls that are the client's
  assert.deepEqual(
    out.outcomes,
    fold.runs
      .map((reason, i) => ({ reason, waits: fold.waits[i] }))
      .filter(({ reason }) => reason !== "error")
      .map(({ reason, waits }) => (waits ? "interrupt" : reason === "cancelled" ? cancelled : reason === "paused" ? called : undefined)),
  );
  // A run that fails leaves the client's interrupts as they were.
  const last = fold.runs.findLastIndex((reason) => reason !== "error");
  assert.equal(out.agent.pendingInterrupts.length, fold.waits[last] ? 1 : 0);
}

for (const reader of readers) {
  test(`${reader.name}: every log`, async (t) => {
    let runs = 0;
    for (const log of logs) {
      await t.test(log, async () => {
        const fold = folded(log);
        const stream = read(`${log}.${reader.view}.txt`);
        const url = serve(`${log}.${reader.view}`, stream);
        check(await run(reader.lib, url), fold, reader.view);
        // In pieces that split frames, lines and characters.
        for (const size of [1, 7]) {
          if (size === 1 && stream.length > 8_000) continue;
          check(await run(reader.lib, `${url}?size=${size}`), fold, reader.view);
          runs++;
        }
      });
    }
    t.diagnostic(`${runs + logs.length} streams`);
  });

  test(`${reader.name}: cut after every event and resumed`, async (t) => {
    let cuts = 0;
    for (const log of logs) {
      await t.test(log, async () => {
        const fold = folded(log);
        const stream = read(`${log}.${reader.view}.txt`);
        const url = serve(`${log}.${reader.view}`, stream);
        const ids = frames(stream)
          .map((f) => f.id)
          .filter((id) => id > 0)
          .slice(0, -1);
        const step = Math.max(1, Math.floor(ids.length / 20));
        for (let i = 0; i < ids.length; i += step) {
          const count = { resumed: 0 };
          check(await run(reader.lib, `${url}?cut=${ids[i]}`, { fetch: resuming(count) }), fold, reader.view);
          assert.equal(count.resumed, 1);
          cuts++;
        }
      });
    }
    t.diagnostic(`${cuts} cuts`);
  });
}

for (const [name, lib] of [
  ["client 0.0.59", agui0],
  ["client 1.0.0", agui1],
]) {
  test(`${name}: comes back in the middle, whatever it held`, async (t) => {
    for (const log of logs) {
      await t.test(log, async () => {
        const fold = folded(log);
        const first = `${serve(`${log}.both`, read(`${log}.both.txt`))}?stop=${fold.rejoined}`;
        const second = serve(`${log}.rejoin`, read(`${log}.rejoin.txt`));
        const partial = await run(lib, first);
        assert.equal(partial.failed, undefined);
        partial.agent.pendingInterrupts = [];
        for (const held of [partial.agent, undefined]) {
          const out = await run(lib, second, { agent: held });
          assert.equal(out.failed, undefined);
          assert.deepEqual(out.noise, []);
          compare(out.messages, fold.blocks, fold.text, "both");
        }
      });
    }
  });
}

// What must fail, or the checks above see nothing.
const controls = {
  "a stream without its first frame": (s) => s.replace(/^data: [^]*?\n\n/, ""),
  "a text written twice": (s) => s.replace(/(data: \{"type":"TEXT_MESSAGE_CONTENT"[^\n]*\n)/, "$1\n$1"),
  "a text left open": (s) => s.replace(/data: \{"type":"TEXT_MESSAGE_END"[^\n]*\n/, ""),
  "a patch that does not apply": (s) =>
    s.replace(/data: \{"type":"ACTIVITY_SNAPSHOT"[^\n]*"status":"done"[^\n]*\n/, (frame) =>
      frame
        .replace("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
        .replace(/"content":.*\}\n$/, '"patch":[{"op":"replace","path":"/none/of/it","value":1}]}\n'),
    ),
  "a null for an absent member": (s) => s.replace('"role":"assistant"', '"role":"assistant","name":null'),
  "an event of another protocol": (s) => s.replace('"type":"TEXT_MESSAGE_END"', '"type":"BLOCK_END"'),
  "an event after the end": (s) => `${s}data: {"type":"CUSTOM","name":"n","value":1}\n\n`,
};

for (const [name, lib] of [
  ["client 0.0.59", agui0],
  ["client 1.0.0", agui1],
]) {
  for (const [what, spoil] of Object.entries(controls)) {
    test(`${name}: ${what} is noticed`, async () => {
      const log = "chart-between-texts";
      const whole = read(`${log}.both.txt`);
      const spoilt = spoil(whole);
      assert.notEqual(spoilt, whole);
      const out = await run(lib, serve("spoilt", spoilt));
      assert.throws(() => check(out, folded(log), "both"));
    });
  }
}

test("client 0.0.59: a 1.0 stream of a stopped turn is not for it", async () => {
  const out = await run(agui0, serve("cancelled", read("cancelled.v1.txt")));
  assert.throws(() => check(out, folded("cancelled"), "v1"));
});
