import type { Block } from "@inlay-ui/client";
import { blocksFrom, CardMessageReader } from "@inlay-ui/client/markup";
import { cleanup, screen, within } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { type BlockProps, BlockView, defineRenderer } from "../src/index.ts";
import { show } from "./help.tsx";

afterEach(cleanup);

interface Product {
  id: string;
  title: string;
  price?: number;
}

const product = defineRenderer<Product>({
  type: "app.sample_card",
  major: 1,
  component: ({ payload }: BlockProps<Product>) => (
    <p>
      {payload.title}: {payload.price}
    </p>
  ),
  check: (payload) => ((payload as Product).title ? null : "no title"),
});

const draw = (blocks: readonly Block[]) => {
  const { container } = show(
    blocks.map((block) => <BlockView key={block.id} block={block} messageId="m_1" />),
    { blocks: { "app.sample_card": product } },
  );
  return [...container.querySelectorAll<HTMLElement>("[data-block-id]")];
};

test("blocks of a bare text are drawn as the server's are", async () => {
  const text =
    'For **you**:\n\n```SampleCard\n{"id":"p-1","title":"Band","price":1}\n```\n' +
    "```SampleCard\n{id: 2}\n```\nor [(SampleCard:late)]";
  let blocks: readonly Block[] = [];
  for await (blocks of blocksFrom(text.match(/.{1,4}/gs) ?? [], {
    cards: { SampleCard: { serverFields: ["/price"] } },
    placeholders: ["SampleCard"],
    resolve: async (_, ids, signal) => {
      if (!ids.includes("late")) return { "p-1": { price: 299 } };
      return new Promise((_, fail) => signal.addEventListener("abort", () => fail(new Error())));
    },
    timeout: 20,
  }));
  const drawn = draw(blocks);
  expect(drawn.map((one) => one.dataset.blockStatus)).toEqual([
    "done",
    "done",
    "error",
    "done",
    "error",
  ]);
  expect(screen.getByText("you").tagName).toBe("STRONG");
  // The price is the one of the server, not of the model.
  expect(screen.getByText("Band: 299")).toBeTruthy();
  expect(drawn[2]?.textContent).toContain("{id: 2}");
  const late = within(drawn[4] as HTMLElement);
  expect(late.getByRole("button", { name: "Try again" })).toBeTruthy();
});

test("so are those of card messages", () => {
  const reader = new CardMessageReader({ cards: ["SampleCard"] });
  const skeleton = '```SampleCard\n{"id":"p-1"}\n```';
  const filled = '```SampleCard\n{"id":"p-1","title":"Band","price":299}\n```';
  reader.push({ type: "full", data: { messageId: "m_1", markdown: `For you:\n${skeleton}\n` } });
  expect(draw(reader.message.blocks).map((one) => one.dataset.blockStatus)).toEqual([
    "done",
    "loading",
  ]);
  cleanup();
  const patch = [
    { op: "replace-substring", path: "/markdown", substring: skeleton, replacement: filled },
  ];
  reader.push({ type: "patch", messageId: "m_1", patch });
  draw(reader.message.blocks);
  expect(screen.getByText("Band: 299")).toBeTruthy();
  reader.close();
});
