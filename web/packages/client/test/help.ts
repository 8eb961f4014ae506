import type { Envelope, EventData, EventName } from "../src/index.ts";

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A stream of given chunks; an Error among them fails the read, "hang" never ends. */
export function chunked(parts: (Uint8Array | Error | "hang")[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const part = parts[next++];
        if (part === undefined) controller.close();
        else if (part === "hang") return new Promise<void>(() => {});
        else if (part instanceof Error) controller.error(part);
        else controller.enqueue(part);
      },
    },
    { highWaterMark: 0 },
  );
}

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}

export function event<N extends EventName>(
  seq: number,
  name: N,
  data: EventData[N],
  blockId?: string,
  group = 1,
): Envelope<N> {
  return { event: name, v: 1, msgId: "m_1", seq, group, at: seq, data, blockId } as Envelope<N>;
}

/** A frame as the server writes it. */
export function frame(e: Envelope): string {
  const { event: name, ...data } = e;
  return `id: ${e.seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A short turn: start, two texts, a chart between them, done. */
export const turn: Envelope[] = [
  event(1, "start", { conversationId: "c_1", ts: 1_700_000_000_000, userMessageId: "m_0" }),
  event(2, "text_delta", { delta: "East " }, "b_1"),
  event(3, "block_start", { type: "chart", version: 1, meta: { title: "Sales" } }, "b_2"),
  event(4, "text_delta", { delta: "leads 🎉." }, "b_1"),
  event(5, "block_delta", { patch: [{ op: "add", path: "", value: { rows: [1] } }] }, "b_2"),
  event(6, "text_end", {}, "b_1"),
  event(
    7,
    "block_end",
    { type: "chart", version: 1, payload: { rows: [1, 2] }, fallback: "Sales: 1, 2" },
    "b_2",
  ),
  event(8, "text_delta", { delta: "More?" }, "b_3"),
  event(9, "text_end", {}, "b_3"),
  event(10, "done", { finishReason: "stop", usage: { inputTokens: 5, outputTokens: 7 } }),
];
