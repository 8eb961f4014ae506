// The AI SDK's documented server path on node:http, with a model in its own
// process:
//
//   /response  streamText, toUIMessageStream, createUIMessageStreamResponse
//   /pipe      streamText, toUIMessageStream, pipeUIMessageStreamToResponse
//
// The body is that of useChat; the text of the last message says what the
// answer is: "deltas=500 park".
import { createServer } from "node:http";
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  pipeUIMessageStreamToResponse,
  simulateReadableStream,
  streamText,
  toUIMessageStream,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";

const filler = "East leads with a third of all sales, North follows and South is last. ".repeat(64);

function chunks(deltas, size) {
  const list = [{ type: "stream-start", warnings: [] }, { type: "text-start", id: "1" }];
  for (let i = 0, at = 0; i < deltas; i++) {
    if (at + size > filler.length) at = 0;
    list.push({ type: "text-delta", id: "1", delta: filler.slice(at, at + size) });
    at += size;
  }
  list.push({ type: "text-end", id: "1" });
  list.push({
    type: "finish",
    finishReason: { unified: "stop", raw: undefined },
    usage: {
      inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: deltas, text: deltas, reasoning: undefined },
    },
  });
  return list;
}

/** A stream that sends its chunks and never ends. */
function parked(list) {
  return new ReadableStream({
    start(controller) {
      for (const c of list) controller.enqueue(c);
    },
  });
}

function answer(messages) {
  const text = messages.at(-1).content.map((p) => p.text ?? "").join("");
  const word = (name, otherwise) => Number(new RegExp(`${name}=(\\d+)`).exec(text)?.[1] ?? otherwise);
  const list = chunks(word("deltas", 0), word("size", 6));
  const model = new MockLanguageModelV4({
    doStream: async () => ({
      stream: / park/.test(text)
        ? parked(list.slice(0, -2))
        : simulateReadableStream({ chunks: list, initialDelayInMs: null, chunkDelayInMs: null }),
    }),
  });
  return streamText({ model, messages });
}

const server = createServer(async (req, res) => {
  try {
    const parts = [];
    for await (const part of req) parts.push(part);
    const { messages } = JSON.parse(Buffer.concat(parts).toString());
    const result = answer(await convertToModelMessages(messages));
    const stream = toUIMessageStream({ stream: result.stream });
    if (req.url === "/pipe") {
      pipeUIMessageStreamToResponse({ response: res, stream });
      return;
    }
    const response = createUIMessageStreamResponse({ stream });
    res.writeHead(response.status, Object.fromEntries(response.headers));
    res.flushHeaders();
    for await (const bytes of response.body) {
      if (!res.write(bytes)) await new Promise((resolve) => res.once("drain", resolve));
    }
    res.end();
  } catch (err) {
    console.error(err);
    res.destroy();
  }
});
server.listen(0, "127.0.0.1", () => console.log(`ready http://127.0.0.1:${server.address().port}`));
