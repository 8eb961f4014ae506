import { describe, expect, test } from "vitest";
import { readSSE, type SSEFrame } from "../src/index.ts";
import { bytes, chunked, collect } from "./help.ts";

const read = (...parts: (string | Uint8Array)[]): Promise<SSEFrame[]> =>
  collect(readSSE(chunked(parts.map((p) => (typeof p === "string" ? bytes(p) : p)))));

const sample =
  "\uFEFF: hello\n\nid: 1\nevent: text_delta\ndata: 各区域🎉\n\n: ping\n\nid: 2\n\ndata: a\ndata:b\ndata\n\n";
const frames: SSEFrame[] = [
  { id: "1", event: "text_delta", data: "各区域🎉" },
  { id: "2" },
  { data: "a\nb\n" },
];

describe("readSSE", () => {
  test.each([
    ["LF", "\n"],
    ["CRLF", "\r\n"],
    ["CR", "\r"],
  ])("every split of a stream with %s line ends", async (_, end) => {
    const all = bytes(sample.replaceAll("\n", end));
    for (let cut = 0; cut <= all.length; cut++) {
      expect(await read(all.slice(0, cut), all.slice(cut)), `cut at ${cut}`).toEqual(frames);
    }
    const single = Array.from(all, (_, i) => all.slice(i, i + 1));
    expect(await read(...single)).toEqual(frames);
  });

  test("every pair of splits of a short stream", async () => {
    const all = bytes("id: 7\r\ndata: é\r\n\r\ndata: x\r\n\r\n");
    const want = [{ id: "7", data: "é" }, { data: "x" }];
    for (let a = 0; a <= all.length; a++) {
      for (let b = a; b <= all.length; b++) {
        expect(await read(all.slice(0, a), all.slice(a, b), all.slice(b))).toEqual(want);
      }
    }
  });

  test("mixed line ends, fields without colon, unknown fields", async () => {
    expect(await read("data\n\nnonsense: 1\n\nretry: 5\rdata: x\r\n\n")).toEqual([
      { data: "" },
      { data: "x" },
    ]);
  });

  test("one space after the colon is dropped, no more", async () => {
    expect(await read("data:  two\n\ndata:none\n\n")).toEqual([{ data: " two" }, { data: "none" }]);
  });

  test("an id with NUL is ignored", async () => {
    expect(await read("id: 1\u00002\ndata: x\n\n")).toEqual([{ data: "x" }]);
  });

  test("a frame that the end cuts off is not given", async () => {
    expect(await read("data: whole\n\ndata: half\n")).toEqual([{ data: "whole" }]);
    expect(await read("data: whole\n\ndata: hal")).toEqual([{ data: "whole" }]);
  });

  test("a frame of 1 MB in small pieces is read in linear time", async () => {
    const text = "漢".repeat(350_000);
    const all = bytes(`data: ${text}\n\n`);
    const parts: Uint8Array[] = [];
    for (let i = 0; i < all.length; i += 97) parts.push(all.slice(i, i + 97));
    const begin = performance.now();
    const got = await read(...parts);
    expect(got[0]?.data).toBe(text);
    expect(performance.now() - begin).toBeLessThan(5_000);
  });

  test("silence is an error, and comments are not silence", async () => {
    const slow = new ReadableStream<Uint8Array>({
      async start(c) {
        for (let i = 0; i < 4; i++) {
          await new Promise((r) => setTimeout(r, 20));
          c.enqueue(bytes(": ping\n\n"));
        }
      },
    });
    let chunks = 0;
    const reading = collect(
      readSSE(slow, {
        idle: 60,
        onBytes: () => {
          chunks++;
        },
      }),
    );
    await expect(reading).rejects.toThrow("silent");
    expect(chunks).toBe(4);
  });

  test("leaving the loop cancels the stream", async () => {
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (c) => c.enqueue(bytes("data: x\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const frame of readSSE(endless)) {
      expect(frame.data).toBe("x");
      break;
    }
    expect(cancelled).toBe(true);
  });
});
