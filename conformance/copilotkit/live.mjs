// Drives a server, as it is built and started with nothing configured, with the
// client of CopilotKit: the server is its runtime, with no other one in between.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { start } from "../binary.mjs";

globalThis.window = globalThis; // the client connects in browsers only
const { CopilotKitCore } = await import("@copilotkit/core");

const capabilities = ["inlay.chart@1", "inlay.table@1", "inlay.confirm@1", "inlay.form@1", "inlay.question@1"];
const sales = "Show 2026Q3 sales by region";

let server;

before(async () => void (server = await start({ INLAY_LIMITS_TURNS_PER_MINUTE: "-1" })));
after(() => server?.stop());

// What the client says on the console is an error.
const noise = [];
for (const level of ["log", "info", "warn", "error", "debug"]) {
  console[level] = (...args) => noise.push(`${level}: ${args.map(String).join(" ")}`);
}
const quiet = () => assert.deepEqual(noise.splice(0), []);

const hits = [];
const plain = globalThis.fetch;
globalThis.fetch = (url, init) => {
  const { pathname } = new URL(url instanceof Request ? url.url : url);
  hits.push(`${init?.method ?? "GET"} ${pathname}`);
  return plain(url, init);
};

/** A client that is connected to its runtime. */
async function coreOf(more = {}) {
  const core = new CopilotKitCore({ runtimeUrl: `${server.base}/v1/copilotkit`, properties: { capabilities }, ...more });
  core.connect?.();
  for (let i = 0; i < 200 && core.runtimeConnectionStatus !== "connected"; i++) await sleep(20);
  assert.equal(core.runtimeConnectionStatus, "connected");
  return core;
}

/** Its agent, in a thread. */
function agentOf(core, threadId = randomUUID(), id = "default") {
  const agent = core.getAgent(id);
  assert.ok(agent, `there is no agent ${id}`);
  agent.threadId = threadId;
  agent.setMessages([]);
  return agent;
}

async function ask(core, agent, content) {
  agent.addMessage({ id: randomUUID(), role: "user", content });
  return core.runAgent({ agent });
}

const held = (agent) => agent.messages.map(({ metadata, ...m }) => JSON.parse(JSON.stringify(m, (k, v) => (k === "metadata" ? undefined : v))));

const fullName = (type) => (type.includes(".") ? type : `inlay.${type}`);

/** What the store has of the thread, by the message that a client has of it. */
async function stored(agent) {
  const msg = agent.messages.findLast((m) => m.metadata?.inlay)?.metadata.inlay.msgId;
  const headers = { "x-blocks": capabilities.join(",") };
  const { conversationId } = await (await plain(`${server.base}/v1/messages/${msg}`, { headers })).json();
  return (await (await plain(`${server.base}/v1/conversations/${conversationId}/messages`, { headers })).json()).items;
}

function compare(agent, items) {
  for (const item of items) {
    if (item.role === "user") {
      assert.ok(agent.messages.some((m) => m.role === "user" && m.content === item.blocks[0].payload));
      continue;
    }
    for (const block of item.blocks) {
      const m = agent.messages.find((m) => m.id === block.id);
      if (block.type === "text") assert.equal(m.content, block.payload);
      else {
        assert.equal(m.role, "activity");
        assert.equal(m.activityType, fullName(block.type));
        assert.deepEqual(m.content, block);
      }
    }
  }
}

for (const transport of ["auto", "rest", "single"]) {
  describe(`transport ${transport}`, () => {
    const more = { runtimeTransport: transport };

    test("the runtime is found, with its agents", async () => {
      hits.length = 0;
      const core = await coreOf(more);
      assert.deepEqual(Object.keys(core.agents).sort(), ["default", "inlay"]);
      assert.equal(core.runtimeMode, "sse");
      assert.ok(core.runtimeVersion);
      assert.deepEqual(hits, [transport === "single" ? "POST /v1/copilotkit" : "GET /v1/copilotkit/info"]);
      quiet();
    });

    test("two runs in a thread, and everything is there after a reload", async () => {
      const core = await coreOf(more);
      const agent = agentOf(core);
      await ask(core, agent, sales);
      await ask(core, agent, "How do I deposit?");
      const items = await stored(agent);
      assert.equal(items.length, 4);
      compare(agent, items);
      assert.ok(agent.messages.some((m) => m.activityType === "inlay.chart"));

      const later = await coreOf(more);
      const back = agentOf(later, agent.threadId, "inlay");
      await later.connectAgent({ agent: back });
      assert.deepEqual(held(back), held(agent));
      quiet();
    });

    test("coming back while it is written", async () => {
      const core = await coreOf(more);
      const agent = agentOf(core);
      const running = ask(core, agent, "Write a long answer");
      while (!agent.messages.some((m) => m.role === "assistant" && m.content?.length > 40)) await sleep(10);
      const later = await coreOf(more);
      const back = agentOf(later, agent.threadId);
      await later.connectAgent({ agent: back });
      await running;
      assert.deepEqual(held(back), held(agent));
      compare(back, await stored(back));
      quiet();
    });

    test("stop", async () => {
      const core = await coreOf(more);
      const agent = agentOf(core);
      hits.length = 0;
      const running = ask(core, agent, "Write a long answer");
      while (!agent.messages.some((m) => m.role === "assistant" && m.content?.length > 40)) await sleep(10);
      core.stopAgent({ agent });
      await running;
      const path = transport === "single" ? "POST /v1/copilotkit" : `POST /v1/copilotkit/agent/default/stop/${agent.threadId}`;
      assert.ok(hits.includes(path), hits.join());
      for (let i = 0; i < 100 && (await stored(agent)).at(-1).status === "running"; i++) await sleep(50);
      const last = (await stored(agent)).at(-1);
      assert.equal(last.status, "cancelled");
      const back = agentOf(await coreOf(more), agent.threadId);
      await core.connectAgent({ agent: back });
      compare(back, await stored(back));
      noise.splice(0); // the client says that it was aborted
    });

    test("a tool of the page is run by the page, and the turn goes on", async () => {
      let ran = 0;
      const core = await coreOf({
        ...more,
        tools: [
          {
            name: "read_selection",
            description: "What the user has selected.",
            parameters: z.object({}),
            handler: async () => {
              ran++;
              return { selected: "row 7 of the sample orders" };
            },
          },
        ],
      });
      const agent = agentOf(core);
      await ask(core, agent, "What have I selected");
      assert.equal(ran, 1);
      const items = await stored(agent);
      assert.equal(items.length, 2);
      assert.equal(items[1].status, "done");
      assert.match(JSON.stringify(items[1].blocks), /row 7/);
      compare(agent, items);
      // Coming back does not run it again.
      const back = agentOf(core, agent.threadId);
      await core.connectAgent({ agent: back });
      assert.equal(ran, 1);
      compare(back, items);
      quiet();
    });

    test("a confirmation waits, also for who comes later, and is answered", async () => {
      const core = await coreOf(more);
      const agent = agentOf(core);
      await ask(core, agent, "Ask me which quarter to sum up");
      assert.equal(agent.pendingInterrupts.length, 1);
      const later = await coreOf(more);
      const back = agentOf(later, agent.threadId);
      await later.connectAgent({ agent: back });
      const [interrupt] = back.pendingInterrupts;
      assert.equal(interrupt.id, agent.pendingInterrupts[0].id);
      const choice = interrupt.responseSchema.properties.choices.items.enum[0];
      await back.runAgent({
        forwardedProps: { capabilities },
        resume: [{ interruptId: interrupt.id, status: "resolved", payload: { choices: [choice] } }],
      });
      assert.deepEqual(back.pendingInterrupts, []);
      const items = await stored(back);
      assert.equal(items.at(-1).status, "done");
      compare(back, items);
      quiet();
    });

    test("what the page says of itself reaches the model as data, and the answer is the same", async () => {
      const core = await coreOf(more);
      core.addContext({ description: "The page", value: "orders" });
      const agent = agentOf(core);
      await ask(core, agent, sales);
      assert.ok(agent.messages.some((m) => m.activityType === "inlay.chart"));
      quiet();
    });
  });
}

test("an agent that does not exist, and a runtime that is none, are noticed", async () => {
  const core = await coreOf();
  assert.equal(core.getAgent("nobody"), undefined);
  const res = await plain(`${server.base}/v1/copilotkit/agent/nobody/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId: "t", runId: "r", messages: [] }),
  });
  assert.equal(res.status, 404);
  const lost = new CopilotKitCore({ runtimeUrl: `${server.base}/v1/nothing` });
  lost.connect?.();
  for (let i = 0; i < 200 && lost.runtimeConnectionStatus !== "error"; i++) await sleep(20);
  assert.equal(lost.runtimeConnectionStatus, "error");
  noise.splice(0);
});

test("a thread whose chart never ends is noticed", async () => {
  const core = await coreOf();
  const agent = agentOf(core);
  const spoilt = globalThis.fetch;
  globalThis.fetch = async (url, init) => {
    const res = await spoilt(url, init);
    const frames = (await res.text()).split(/(?<=\n\n)/).filter((f) => !f.includes('"status":"done"'));
    return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
  };
  try {
    await ask(core, agent, sales);
  } finally {
    globalThis.fetch = spoilt;
  }
  await assert.rejects(async () => compare(agent, await stored(agent)));
  noise.splice(0);
});
