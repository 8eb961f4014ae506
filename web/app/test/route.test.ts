// @vitest-environment node
import { describe, expect, it } from "vitest";
import { formatRoute, parseRoute, placeOf } from "../src/route.ts";

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

  it.each([
    ["/", { conversationId: null }],
    ["/c/c_12", { conversationId: "c_12" }],
    ["/c/c_12?from=card#end", { conversationId: "c_12" }],
    ["/c/a%20b", { conversationId: "a b" }],
    ["/gallery", { document: "./gallery" }],
    ["/gallery?type=chart#lang=zh", { document: "./gallery?type=chart#lang=zh" }],
  ])("%s is a place of the page", (target, place) => {
    expect(placeOf(target)).toEqual(place);
  });

  it.each([
    "/wallet",
    "/c",
    "/c/",
    "/c/a/b",
    "/c/%E0%A4%A",
    "/galleryx",
    "/gallery/x",
    "gallery",
    "//example.com/gallery",
    "https://example.com/gallery",
    "",
  ])("%s is none", (target) => {
    expect(placeOf(target)).toBeNull();
  });

  it("come back as they went", () => {
    for (const conversationId of [null, "c_1", "a/b?#", "对话"]) {
      expect(parseRoute(formatRoute({ conversationId }))).toEqual({ conversationId });
    }
  });
});
