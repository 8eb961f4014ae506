import type { Block } from "@inlay-ui/client";
import { MarkupBlocks } from "@inlay-ui/client/markup";
import { describe, expect, test } from "vitest";
import { cut, random, rows } from "./markup.ts";

/*
 * Cards of which the server says some. The rows are read by the server's own
 * tests too, which know schemas in place of pointers.
 */

interface Row {
  name: string;
  serverFields: Record<string, string[]>;
  version?: string;
  body: string;
  payload: unknown;
  words?: unknown;
}

/** The blocks of a text after each piece. */
function blocksOf(row: Row, streaming: boolean, pieces: readonly string[]): (readonly Block[])[] {
  const { serverFields } = row;
  const fields = Object.keys(serverFields).length > 1 ? serverFields : serverFields["1"];
  const made = new MarkupBlocks({ cards: { OpenCard: { streaming, serverFields: fields } } });
  const seen = pieces.map((piece) => {
    made.push(piece);
    return made.blocks;
  });
  made.close();
  return [...seen, made.blocks];
}

describe.each(rows<Row>("server-fields.jsonl"))("$name", (row) => {
  const head = row.version ? `OpenCard@${row.version}` : "OpenCard";
  const source = `\`\`\`${head}\n${row.body}\n\`\`\`\n`;
  const next = random(11);

  test.each([false, true])("shown while it is written: %s", (streaming) => {
    for (const pieces of [[source], [...source], cut(source, next), cut(source, next)]) {
      const all = blocksOf(row, streaming, pieces);
      expect(JSON.stringify(all)).not.toContain("666");
      const [block, ...more] = all.at(-1) ?? [];
      expect(more).toEqual([]);
      expect(block?.status).toBe("done");
      expect(block?.payload).toEqual(row.payload);
      if (row.words === undefined) expect(block?.fallback).toBe(source);
      else {
        const [, body = ""] = /^```\S+\n([\s\S]*)```\n$/.exec(block?.fallback ?? "") ?? [];
        expect(JSON.parse(body)).toEqual(row.words);
      }
    }
  });
});

const last = (serverFields: string[], text: string) => {
  const made = new MarkupBlocks({
    cards: { OpenCard: { serverFields } },
    tags: { artifact: { serverFields, children: { action: { raw: true } } } },
    lenient: { fenceAsObjectArray: true },
  });
  made.push(text);
  made.close();
  return made.blocks;
};

test("names of the server's are in no words, wherever they stand", () => {
  const text = '```OpenCard\n{"id":"a","more":[{"price":6667,"n":1}]}\n```\n';
  const [block] = last(["/items/*/price", "/tags/*"], text);
  expect(block?.fallback).not.toContain("6667");
  expect(block?.fallback).toContain('"n": 1');
});

test("each card of a list has words of its own", () => {
  const blocks = last(["/price"], '```OpenCard\n[{"id":"a"},{"id":"b","price":6667}]\n```\n');
  expect(blocks.map((b) => b.payload)).toEqual([{ id: "a" }, { id: "b" }]);
  expect(JSON.stringify(blocks)).not.toContain("6667");
});

test("attributes of elements, and of those inside", () => {
  const text = '<artifact id="a" price="6667"><action price="6667">x</action></artifact>\n';
  const [block] = last(["/price", "/children/*/price"], text);
  expect(block?.payload).toEqual({ id: "a", children: [{ tag: "action", text: "x" }] });
  expect(JSON.stringify(block)).not.toContain("6667");
});

test("a body that is too deep is no card, and costs nobody anything", () => {
  const deep = `${'{"a":['.repeat(5000)}{"price":6667}${"]}".repeat(5000)}`;
  for (const fields of [["/price"], []]) {
    const [block] = last(fields, `\`\`\`OpenCard\n${deep}\n\`\`\`\n`);
    expect(block).toMatchObject({ status: "error", error: { code: "SCHEMA_INVALID" } });
    if (fields.length > 0) expect(block?.fallback).not.toContain("6667");
  }
});

test("a prototype's names are names like others", () => {
  const text = '```OpenCard\n{"__proto__":{"price":6667},"constructor":1,"id":"a"}\n```\n';
  const [block] = last(["/__proto__/price", "/constructor", "/toString"], text);
  expect(Object.keys(block?.payload as object)).toEqual(["__proto__", "id"]);
  expect(JSON.stringify(block)).not.toContain("6667");
  expect(({} as Record<string, unknown>).price).toBeUndefined();
});
