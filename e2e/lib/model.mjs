import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * What a scripted answer does next: say a piece of text, call a tool, wait.
 * @typedef {string | {call: string, args: Record<string, unknown>} | {wait: number}} Step
 */

/**
 * A model that speaks the OpenAI wire and says what a test tells it.
 *
 * `script` gets the last question, the number of tool results since it and
 * the number of the request, and returns the steps of the answer.
 * @param {(question: string, results: number, request: number) => Iterable<Step> | AsyncIterable<Step>} script
 */
export async function startModel(script) {
  let requests = 0;
  let hungUp = 0;
  const server = createServer(async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    const { messages } = JSON.parse(body);
    const asked = messages.findLastIndex((/** @type {any} */ m) => m.role === "user");
    const results = messages
      .slice(asked)
      .filter((/** @type {any} */ m) => m.role === "tool").length;
    const { content } = messages[asked];
    const question = typeof content === "string" ? content : content[0].text;
    requests++;
    let open = true;
    res.on("close", () => {
      if (!res.writableFinished) hungUp++;
      open = false;
    });
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    const id = `chatcmpl-${requests}`;
    /** @param {object} delta @param {string | null} finish */
    const send = (delta, finish = null) => {
      const choices = [{ index: 0, delta, finish_reason: finish }];
      const chunk = { id, object: "chat.completion.chunk", created: 0, model: "test", choices };
      res.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    let calls = 0;
    for await (const step of script(question, results, requests)) {
      if (!open) return;
      if (typeof step === "string") send({ role: "assistant", content: step });
      else if ("wait" in step) await sleep(step.wait);
      else {
        const call = { name: step.call, arguments: JSON.stringify(step.args) };
        const index = calls++;
        send({
          tool_calls: [
            { index, id: `call_${requests}_${index}`, type: "function", function: call },
          ],
        });
      }
    }
    send({}, calls > 0 ? "tool_calls" : "stop");
    res.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  server.unref();
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    /** The environment of a server that this model answers. */
    env: {
      INLAY_MODEL_BASE_URL: `http://127.0.0.1:${port}/v1`,
      INLAY_MODEL_NAME: "test",
      INLAY_DEMO: "true",
    },
    /** How many answers were broken off by the server under test. */
    hungUp: () => hungUp,
    requests: () => requests,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Numbered sentences, one step each, `ms` apart: any loss, doubling or wrong
 * order shows in the numbers.
 * @param {number} count
 * @param {number} ms
 * @param {string} [what]
 * @returns {Generator<Step>}
 */
export function* sentences(count, ms, what = "Sentence") {
  for (let i = 1; i <= count; i++) {
    yield `${what} ${i} of ${count}.${i % 8 === 0 ? "\n\n" : " "}`;
    if (ms > 0) yield { wait: ms };
  }
}

/** The whole text of {@link sentences}, as it reads. */
export function sentencesText(/** @type {number} */ count, what = "Sentence") {
  return Array.from({ length: count }, (_, i) => `${what} ${i + 1} of ${count}.`).join(" ");
}
