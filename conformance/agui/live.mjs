// Drives a server, as it is built and started, with the published AG-UI clients:
// every question that the demo model knows, and what a front end does besides
// asking. What a client holds in the end must be the stored blocks, by the table
// of docs/wires.md, and it must say nothing on the console.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as agui0 from "agui0";
import * as agui1 from "agui1";
import { start } from "../binary.mjs";

const clients = [
  { name: "client 0.0.59", lib: agui0 },
  { name: "client 1.0.0", lib: agui1 },
];

// The first English question of each scenario of the demo model.
const scenarios = new URL("../../model/scripted/scenarios/", import.meta.url);
const questions = readdirSync(scenarios)
  .map((name) => [name.slice(0, -".yaml".length), readFileSync(new URL(name, scenarios), "utf8")])
  .map(([name, text]) => [name, /^questions:\n {2}en: \[(?:'([^']*)'|([^,\]]*))/m.exec(text)])
  .filter(([, m]) => m)
  .map(([name, m]) => [name, m[1] ?? m[2]]);

let server, base, tokens;

before(async () => {
  server = await start({
    INLAY_LIMITS_TURNS_PER_MINUTE: "-1",
    INLAY_LIMITS_REQUESTS_PER_SECOND: "-1",
    INLAY_AUTH_MODE: "proxy",
    INLAY_AUTH_TRUSTED_PROXIES: "127.0.0.0/8",
  });
  base = server.base;
  const { blocks } = await get("/v1/blocks");
  tokens = blocks.map((b) => `${fullName(b.type)}@${b.version}`);
});

after(() => server?.stop());

const fullName = (type) => (type.includes(".") ? type : `inlay.${type}`);

/** Reads as the user of an agent. */
async function get(path, agent) {
  const res = await fetch(base + path, {
    headers: { "x-forwarded-user": agent?.headers["x-forwarded-user"] ?? "nobody", ...(tokens && { "x-blocks": tokens.join(",") }) },
  });
  assert.equal(res.status, 200, path);
  return res.json();
}

// The console belongs to all agents of a test file; what any says is an error.
const noise = [];
for (const level of ["log", "info", "warn", "error", "debug"]) {
  console[level] = (...args) => noise.push(`${level}: ${args.map(String).join(" ")}`);
}

/** An agent that can come back to its thread. Every one has a user of its own, or that of another. */
function agentOf(lib, { of, threadId = of?.threadId ?? randomUUID(), fetch: send = fetch, messages = [] } = {}) {
  class Agent extends lib.HttpAgent {
    connect(input) {
      this.abortController = new AbortController(); // the client makes a new one for a run only
      return lib.transformHttpEventStream(lib.runHttpRequest(() => send(`${base}/v1/ag-ui/connect`, this.requestInit(input))));
    }
  }
  const headers = of?.headers ?? { "x-forwarded-user": randomUUID() };
  return new Agent({ url: `${base}/v1/ag-ui`, threadId, headers, initialMessages: messages, fetch: send });
}

/** Runs an agent, or lets it come back, and tells what came of it. */
async function run(agent, more = {}, how = "runAgent") {
  const out = { agent, runs: [], states: 0, ids: [] };
  out.result = await agent[how](
    { runId: randomUUID(), forwardedProps: { capabilities: tokens }, ...more },
    {
      onRunStartedEvent: ({ event }) => {
        out.runId = event.runId;
        out.msgId = event.metadata.inlay?.msgId ?? out.msgId;
      },
      onEvent: ({ event }) => void (event.metadata?.inlay && out.ids.push(event.metadata.inlay.seq)),
      onRunFinishedEvent: ({ event }) => void out.runs.push(event.outcome?.type ?? "success"),
      onRunErrorEvent: ({ event }) => void out.runs.push(`error ${event.code}`),
      onRunFailed: ({ error }) => void (out.failed = error),
      onStateSnapshotEvent: () => void out.states++,
    },
  );
  assert.equal(out.failed, undefined);
  return out;
}

async function ask(agent, content, more) {
  agent.addMessage({ id: randomUUID(), role: "user", content });
  return run(agent, more);
}

const connect = (agent, more) => run(agent, more, "connectAgent");

/** What the store has of the conversation of a message. */
async function stored({ agent, msgId }) {
  const { conversationId } = await get(`/v1/messages/${msgId}`, agent);
  return (await get(`/v1/conversations/${conversationId}/messages`, agent)).items;
}

const textOf = (blocks) => blocks.filter((b) => b.type === "text").map((b) => b.payload ?? "").join("\n\n");

/** Holds what a client has against what is stored. */
function compare(messages, items) {
  const own = (m) => m.metadata?.inlay?.msgId;
  for (const item of items) {
    if (item.role === "user") {
      assert.ok(messages.some((m) => m.role === "user" && m.content === textOf(item.blocks)), `the user's ${item.id} is missing`);
      continue;
    }
    const calls = messages.filter((m) => m.toolCalls?.[0].id.startsWith(`${item.id}.`));
    const plain = messages.filter((m) => own(m) === item.id && m.role !== "tool" && m.role !== "reasoning");
    assert.deepEqual(
      plain.filter((m) => !m.id.includes("~")).map((m) => m.id),
      item.blocks.map((b) => b.id),
    );
    for (const block of item.blocks) {
      const m = plain.findLast((m) => m.id === block.id || m.id.startsWith(`${block.id}~`));
      if (block.type === "text") {
        assert.equal(m.role, "assistant");
        assert.equal(m.content, block.payload ?? "");
      } else {
        assert.equal(m.role, "activity");
        assert.equal(m.activityType, fullName(block.type));
        assert.deepEqual(m.content, block);
      }
    }
    const thoughts = messages.filter((m) => m.role === "reasoning" && own(m) === item.id);
    assert.equal(thoughts.map((m) => m.content).join(""), item.reasoning ?? "");
    const tools = item.tools ?? [];
    assert.deepEqual(calls.map((m) => m.toolCalls[0].function.name), tools.map((t) => t.name));
    for (const [i, tool] of tools.entries()) {
      const results = messages.filter((m) => m.role === "tool" && m.toolCallId === calls[i].toolCalls[0].id);
      assert.equal(results.length, tool.status === "running" ? 0 : 1, `results of ${tool.name}`);
    }
  }
}

const quiet = () => assert.deepEqual(noise.splice(0), []);

const selection = { name: "read_selection", description: "What the user has selected.", parameters: { type: "object", properties: {} } };

/** What a client shows, without what a stream cannot repeat. */
const held = (agent) => agent.messages.map(({ metadata, ...m }) => JSON.parse(JSON.stringify(m, (key, value) => (key === "metadata" ? undefined : value))));
const byId = (messages) => messages.filter((m) => m.role !== "reasoning").sort((a, b) => (a.id < b.id ? -1 : 1));
const thoughts = (messages) => messages.filter((m) => m.role === "reasoning").map((m) => m.content).join("");

/** A fetch whose streams end after an event, or pass through a spoiler. */
const bent = (change) => async (url, init) => {
  const res = await fetch(url, init);
  if (!res.ok || url.endsWith("/connect")) return res;
  const frames = (await res.text()).split(/(?<=\n\n)/);
  return new Response(change(frames).join(""), { headers: { "content-type": "text/event-stream" } });
};
const cut = (seq) =>
  bent((frames) => frames.slice(0, frames.findIndex((f) => new RegExp(`^id: ${seq}$`, "m").test(f)) + 1));

/** Answers what a run waits for, until it waits for nothing. */
async function settle(out) {
  const all = [out];
  while (out.agent.pendingInterrupts?.length > 0) {
    const resume = out.agent.pendingInterrupts.map((i) => ({
      interruptId: i.id,
      status: "resolved",
      payload: i.reason === "confirmation" ? { approved: true } : answerTo(i.responseSchema),
    }));
    out = await run(out.agent, { resume });
    all.push(out);
    assert.ok(all.length < 5);
  }
  return all;
}

const answerTo = (schema) => (schema.properties.choices ? { choices: [schema.properties.choices.items.enum[0]] } : { text: "Sample" });

for (const { name, lib } of clients) {
  describe(name, { concurrency: 6 }, () => {
    for (const [scenario, question] of questions) {
      test(`${scenario}: ${question}`, async () => {
        const agent = agentOf(lib);
        const tools = scenario === "client-selection" ? [selection] : [];
        const out = await ask(agent, question, { tools });
        const all = await settle(out);
        // Every question is one that the demo model answers.
        assert.doesNotMatch(JSON.stringify(agent.messages), /no script fits/);
        const items = await stored(out);
        const last = items.at(-1);
        if (last.status === "error") assert.match(all.at(-1).runs.at(-1), /^error /);
        else assert.equal(all.at(-1).runs.at(-1), "success");
        compare(agent.messages, items);

        // Somebody who knows the thread's name, and somebody who held a part.
        const late = agentOf(lib, { of: agent });
        const came = await connect(late);
        assert.equal(came.runs.length, 1);
        compare(late.messages, items);
        assert.deepEqual(thoughts(held(late)), thoughts(held(agent)));
        if (all.length === 1) {
          const seq = out.ids[Math.floor(out.ids.length / 2)];
          const user = agent.messages[0];
          const part = agentOf(lib, { of: agent, messages: [user], fetch: cut(seq) });
          await run(part, { runId: out.runId });
          await connect(part);
          compare(part.messages, items);
          assert.deepEqual(byId(held(part)), byId(held(agent)));
        }
        quiet();
      });
    }

    for (const question of ["Show 2026Q3 sales by region", "Think before you answer", "Tell me more about Sample watch Run"]) {
      test(`cut after every event of ${question}, and back`, async () => {
        const agent = agentOf(lib);
        const out = await ask(agent, question);
        const user = agent.messages[0];
        const seqs = [...new Set(out.ids)];
        for (const seq of seqs) {
          const part = agentOf(lib, { of: agent, messages: [user], fetch: cut(seq) });
          await run(part, { runId: out.runId });
          await connect(part);
          assert.deepEqual(byId(held(part)), byId(held(agent)), `cut after ${seq}`);
          assert.equal(thoughts(held(part)), thoughts(held(agent)), `cut after ${seq}`);
        }
        assert.ok(seqs.length > 8);
        quiet();
      });
    }

    test("back while it is written", async () => {
      const agent = agentOf(lib);
      agent.addMessage({ id: randomUUID(), role: "user", content: "Write a long answer" });
      let seen = 0;
      await agent.runAgent(
        { runId: randomUUID(), forwardedProps: { capabilities: tokens } },
        { onTextMessageContentEvent: () => void (++seen === 3 && agent.abortRun()) },
      );
      const back = await connect(agent);
      assert.equal(back.runs.at(-1), "success");
      compare(agent.messages, await stored(back));
      quiet();
    });

    test("stop ends the stream, leaving does not", async () => {
      const agent = agentOf(lib);
      agent.addMessage({ id: randomUUID(), role: "user", content: "Write a long answer" });
      let stop;
      const runs = [];
      await agent.runAgent(
        { runId: randomUUID() },
        {
          onTextMessageContentEvent: () => {
            stop ??= fetch(`${base}/v1/ag-ui/stop`, {
              method: "POST",
              headers: { "content-type": "application/json", ...agent.headers },
              body: JSON.stringify({ threadId: agent.threadId }),
            });
          },
          onRunFinishedEvent: ({ event }) => void runs.push([event.outcome?.type, event.result.finishReason]),
        },
      );
      assert.equal((await stop).status, 202);
      assert.deepEqual(runs, [[lib === agui1 ? "cancelled" : undefined, "cancelled"]]);
      quiet();
    });

    for (const [what, payload, told] of [
      ["approved", { approved: true }, "approved"],
      ["rejected", { approved: false }, "rejected"],
      ["cancelled", undefined, "rejected"],
    ]) {
      test(`a confirmation is ${what}`, async () => {
        const agent = agentOf(lib);
        const out = await ask(agent, "Approve an expense");
        assert.deepEqual(out.runs, ["interrupt"]);
        const [interrupt] = agent.pendingInterrupts;
        assert.equal(interrupt.reason, "confirmation");
        // Whoever comes now is asked the same.
        const late = agentOf(lib, { of: agent });
        await connect(late);
        assert.equal(late.pendingInterrupts[0].id, interrupt.id);
        const resume = [{ interruptId: interrupt.id, status: payload ? "resolved" : "cancelled", payload }];
        const done = await run(agent, { resume });
        assert.deepEqual(done.runs, ["success"]);
        const items = await stored(out);
        compare(agent.messages, items);
        const confirm = items.at(-1).blocks.find((b) => b.type === "confirm");
        assert.equal(confirm.state.status, "answered");
        assert.equal(confirm.state.answer, { approved: "approve", rejected: "reject" }[told]);
        // The same answer once more changes nothing.
        assert.deepEqual((await run(late, { resume })).runs, ["success"]);
        quiet();
      });
    }

    test("a question is answered", async () => {
      const agent = agentOf(lib);
      await ask(agent, "Ask me which quarter to sum up");
      const [interrupt] = agent.pendingInterrupts;
      assert.equal(interrupt.reason, "input_required");
      const resume = [{ interruptId: interrupt.id, status: "resolved", payload: answerTo(interrupt.responseSchema) }];
      const done = await run(agent, { resume });
      assert.deepEqual(done.runs, ["success"]);
      compare(agent.messages, await stored(done));
      quiet();
    });

    test("a tool of the client is run by it", async () => {
      const agent = agentOf(lib);
      const tools = [selection];
      const out = await ask(agent, "What have I selected", { tools });
      const call = agent.messages.findLast((m) => m.toolCalls)?.toolCalls[0];
      assert.equal(call.function.name, "read_selection");
      assert.deepEqual(JSON.parse(call.function.arguments), {});
      agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call.id, content: '{"selected":"row 7 of the sample orders"}' });
      const done = await run(agent, { tools });
      assert.deepEqual(done.runs, ["success"]);
      const items = await stored(out);
      compare(agent.messages, items);
      assert.match(textOf(items.at(-1).blocks), /row 7/);
      assert.equal(agent.messages.filter((m) => m.role === "tool").length, 1);
      const late = agentOf(lib, { of: agent });
      await connect(late);
      assert.deepEqual(
        held(late).filter((m) => m.role !== "tool"),
        held(agent).filter((m) => m.role !== "tool"),
      );
      quiet();
    });

    test("two runs, one anew, one with a history that was cut", async () => {
      const agent = agentOf(lib);
      await ask(agent, "Show 2026Q3 sales by region");
      const first = agent.messages.length;
      const second = await ask(agent, "How do I deposit?");
      assert.equal((await stored(second)).length, 4);
      agent.setMessages(agent.messages.slice(0, first + 1));
      const anew = await run(agent);
      const items = await stored(anew);
      assert.equal(items.length, 4);
      assert.equal(items.at(-1).siblings.length, 2);
      compare(agent.messages, items);
      agent.setMessages(agent.messages.slice(0, first));
      const other = await ask(agent, "Which commands are there?");
      const now = await stored(other);
      assert.equal(now.length, 4);
      assert.equal(now[2].siblings.length, 2);
      compare(agent.messages, now);
      const late = agentOf(lib, { of: agent });
      await connect(late);
      assert.deepEqual(held(late), held(agent));
      quiet();
    });

    test("a block is tried again, and an action is done with one", async () => {
      const agent = agentOf(lib);
      const out = await ask(agent, "Ask a broken source");
      const block = () => agent.messages.findLast((m) => m.role === "activity");
      assert.equal(block().content.status, "error");
      const again = await run(agent, { forwardedProps: { capabilities: tokens, inlay: { retryBlock: block().id } } });
      assert.deepEqual(again.runs, ["success"]);
      assert.equal(block().content.status, "done");
      compare(agent.messages, await stored(out));

      const form = await ask(agent, "Export the order details");
      const id = agent.messages.findLast((m) => m.activityType === "inlay.form").id;
      const submit = agent.messages.find((m) => m.id === id).content.actions.find((a) => a.kind === "api");
      const { payload } = agent.messages.find((m) => m.id === id).content;
      const values = { ...payload.defaults, reason: "A sample review" };
      const did = await run(agent, {
        forwardedProps: { capabilities: tokens, inlay: { action: { blockId: id, actionId: submit.id, payload: values } } },
      });
      assert.deepEqual(did.runs, ["success"]);
      assert.ok(agent.messages.find((m) => m.id === id).content.state);
      for (let i = 0; i < 50 && (await stored(form)).at(-1).blocks.find((b) => b.id === id).state.status === "accepted"; i++) await sleep(100);
      const late = agentOf(lib, { of: agent });
      await connect(late);
      compare(late.messages, await stored(form));
      quiet();
    });

    test("a client that declares nothing has text alone", async () => {
      const agent = agentOf(lib);
      const out = await ask(agent, "Show 2026Q3 sales by region", { forwardedProps: {} });
      assert.deepEqual(out.runs, ["success"]);
      assert.ok(!agent.messages.some((m) => m.role === "activity"));
      const chart = (await stored(out)).at(-1).blocks.find((b) => b.type === "chart");
      assert.equal(agent.messages.find((m) => m.id === chart.id).content, chart.fallback);
      quiet();
    });
  });

  // One after the other: the console belongs to all of them.
  describe(`${name}: what is refused, and what must fail`, () => {
    test("another user has another thread of the name, and nothing of this one", async () => {
      const agent = agentOf(lib);
      const out = await ask(agent, "Approve an expense");
      const [{ id }] = agent.pendingInterrupts;
      const other = agentOf(lib, { threadId: agent.threadId });
      assert.deepEqual((await connect(other)).runs, []);
      assert.deepEqual(other.messages, []);
      const resume = [{ interruptId: id, status: "resolved", payload: { approved: true } }];
      assert.deepEqual((await run(other, { resume })).runs, ["error not_found"]);
      const theirs = await ask(other, "Which commands are there?");
      assert.equal((await stored(theirs)).length, 2);
      const { conversationId } = await get(`/v1/messages/${out.msgId}`, agent);
      const own = agentOf(lib, { threadId: conversationId });
      await assert.rejects(connect(own), /404/);
      await assert.rejects(ask(own, "Hello"), /404/);
      assert.deepEqual((await run(agent, { resume })).runs, ["success"]);
      noise.splice(0); // the client says why it failed
    });

    test("a run id with other words, and an open interrupt without an answer, are refused", async () => {
      const agent = agentOf(lib);
      const out = await ask(agent, "Which commands are there?");
      const other = agentOf(lib, { of: agent, messages: [{ id: randomUUID(), role: "user", content: "Hello" }] });
      await assert.rejects(other.runAgent({ runId: out.runId }), /422/);
      const asked = agentOf(lib);
      await ask(asked, "Approve an expense");
      const rude = agentOf(lib, { of: asked });
      assert.deepEqual((await ask(rude, "Hello")).runs, ["error invalid_request"]);
      noise.splice(0); // the client says why it failed
    });

    // What must fail, or the checks above see nothing.
    const first = (frames, type) => frames.findIndex((f) => f.includes(`"type":"${type}"`));
    for (const [what, spoil] of Object.entries({
      "a stream without its first frame": (frames) => frames.slice(1),
      "a text written twice": (frames) => frames.flatMap((f) => (f.includes("TEXT_MESSAGE_CONTENT") ? [f, f] : [f])),
      "a block that never ends": (frames) => frames.filter((f) => !f.includes('"status":"done"')),
      "a text left open": (frames) => frames.filter((_, i) => i !== first(frames, "TEXT_MESSAGE_END")),
      "an end that comes twice": (frames) => [...frames, frames.at(-1)],
    })) {
      test(`${what} is noticed`, async () => {
        const agent = agentOf(lib, { fetch: bent(spoil) });
        await assert.rejects(async () => {
          const out = await ask(agent, "Show 2026Q3 sales by region");
          compare(agent.messages, await stored(out));
          quiet();
        });
        noise.splice(0);
      });
    }
  });
}
