// @vitest-environment node
import { expect, it } from "vitest";
import { prefilled } from "../src/prefill.ts";

it.each([
  ["an empty draft is replaced", "", "/buy 100 BTC"],
  ["so is one of white space", "  \n ", "/buy 100 BTC"],
  ["so is another command", "/sell 1 ETH", "/buy 100 BTC"],
  ["so is the same one, which is not there twice then", "/buy 100 BTC", "/buy 100 BTC"],
  ["what was written stays, under the command", "How about", "/buy 100 BTC\nHow about"],
  ["a command above it is replaced alone", "/sell 1 ETH\nHow about", "/buy 100 BTC\nHow about"],
  ["a slash elsewhere is no command", "and/or", "/buy 100 BTC\nand/or"],
])("%s", (_, draft, text) => {
  expect(prefilled(draft, "/buy 100 BTC")).toEqual({ text, caret: "/buy 100 BTC".length });
});
