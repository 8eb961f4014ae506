// @vitest-environment node
import { describe, expect, it } from "vitest";
import { formatRoute, parseRoute } from "../src/route.ts";

describe("routes", () => {
  it.each([
    ["", null],
    ["#/", null],
    ["#/c/", null],
    ["#/c/c_12", "c_12"],
    ["#/c/a%2Fb", "a/b"],
    ["#/c/%E0%A4%A", null],
    ["#/x/c_12", null],
  ])("%s", (hash, conversationId) => {
    expect(parseRoute(hash)).toEqual({ conversationId });
  });

  it("come back as they went", () => {
    for (const conversationId of [null, "c_1", "a/b?#", "对话"]) {
      expect(parseRoute(formatRoute({ conversationId }))).toEqual({ conversationId });
    }
  });
});
