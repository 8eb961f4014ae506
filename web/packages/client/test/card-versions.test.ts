import type { Block } from "@inlay-ui/client";
import { MarkupBlocks } from "@inlay-ui/client/markup";
import { describe, expect, test } from "vitest";
import { cut, random, rows } from "./markup.ts";

/*
 * Where a card may say its version, and which one counts. The rows are read by
 * the server's own tests too, which know schemas in place of pointers.
 */

interface Row {
  name: string;
  serverFields: Record<string, string[]>;
  version?: string;
  body: string;
  reason?: "schema" | "version_downgrade";
  major?: number;
  minor?: number;
  payload?: unknown;
}

function read(row: Row, streaming: boolean, pieces: readonly string[]): (readonly Block[])[] {
  const { serverFields } = row;
  const made = new MarkupBlocks({ cards: { OpenCard: { streaming, serverFields } } });
  const seen = pieces.map((piece) => {
    made.push(piece);
    return made.blocks;
  });
  made.close();
  return [...seen, made.blocks];
}

describe.each(rows<Row>("card-versions.jsonl"))("$name", (row) => {
  const head = row.version ? `OpenCard@${row.version}` : "OpenCard";
  const source = `\`\`\`${head}\n${row.body}\n\`\`\`\n`;
  const next = random(5);

  test.each([false, true])("shown while it is written: %s", (streaming) => {
    for (const pieces of [[source], [...source], cut(source, next), cut(source, next)]) {
      const all = read(row, streaming, pieces);
      expect(JSON.stringify(all)).not.toContain("666");
      const [block, ...more] = all.at(-1) ?? [];
      expect(more).toEqual([]);
      if (row.reason === "schema") {
        expect(block).toMatchObject({ status: "error", error: { code: "SCHEMA_INVALID" } });
        expect(block).not.toHaveProperty("payload");
        continue;
      }
      // A version that there is not is the block's all the same: nothing draws it.
      expect(block).toMatchObject({ status: "done", version: row.major });
      expect(block?.meta?.schemaMinor ?? 0).toBe(row.minor);
      if (row.payload !== undefined) expect(block?.payload).toEqual(row.payload);
    }
  });
});
