import type { Block } from "@inlay-ui/client";
import { blocksFrom } from "@inlay-ui/client/markup";
import { expect, test, vi } from "vitest";
import { rows } from "./markup.ts";

/*
 * What is said of the ids in a card, laid over what was written. The rows are
 * read by the server's own tests too, which know a schema in place of pointers.
 */

interface Row {
  name: string;
  serverFields: string[];
  body: string;
  found: Record<string, unknown>;
  asked: string[];
  payload?: unknown;
  error?: "NOT_FOUND" | "DATA";
}

test.each(rows<Row>("card-fill.jsonl"))("$name", async (row) => {
  const resolve = vi.fn(async (_name: string, _ids: readonly string[]) => row.found);
  const cards = { OpenCard: { serverFields: row.serverFields } };
  let blocks: readonly Block[] = [];
  for await (const all of blocksFrom(`\`\`\`OpenCard\n${row.body}\n\`\`\`\n`, { cards, resolve })) {
    blocks = all;
  }
  expect(resolve.mock.calls.flatMap(([, ids]) => ids).sort()).toEqual(row.asked);
  expect(resolve.mock.calls.length).toBeLessThanOrEqual(1);
  const [block, ...more] = blocks;
  expect(more).toEqual([]);
  if (row.error === undefined)
    expect(block).toMatchObject({ status: "done", payload: row.payload });
  else {
    const code = row.error === "DATA" ? "SCHEMA_INVALID" : row.error;
    expect(block).toMatchObject({ status: "error", error: { code } });
  }
});
