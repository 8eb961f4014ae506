// @vitest-environment node
import { describe, expect, it } from "vitest";
import codes from "../../../schema/errors.json";
import { needsSignIn, toFailure, wordError } from "../src/errors.ts";
import { en } from "../src/i18n/en.ts";
import { isTextKey, translator } from "../src/i18n/index.ts";

describe("wordError", () => {
  it.each([
    [{ code: "network" }, "network"],
    [{ code: "unauthorized", status: 401 }, "unauthorized"],
    [{ code: "whatever", status: 401 }, "unauthorized"],
    [{ code: "forbidden", status: 403 }, "forbidden"],
    [{ code: "not_found", status: 404 }, "not_found"],
    [{ code: "turn_running", status: 409 }, "turn_running"],
    [{ code: "input_too_large", status: 413 }, "too_large"],
    [{ code: "rate_limited", status: 429 }, "rate_limited"],
    [{ code: "bad_request", status: 400 }, "invalid"],
    [{ code: "model_unauthorized" }, "model_auth"],
    [{ code: "model_not_found" }, "model_not_found"],
    [{ code: "model_rate_limited" }, "model_rate_limited"],
    [{ code: "model_context_too_long" }, "model_context"],
    [{ code: "model_content_rejected" }, "model_content"],
    [{ code: "model_bad_request" }, "model_rejected"],
    [{ code: "model_bad_response" }, "model_incomplete"],
    [{ code: "model_timeout" }, "model_timeout"],
    [{ code: "model_unavailable" }, "model_unavailable"],
    [{ code: "model_something_new" }, "model_unavailable"],
    [{ code: "INTERRUPTED" }, "interrupted"],
    [{ code: "internal", status: 500 }, "server"],
    [{ code: "x", status: 503 }, "server"],
    [{ code: "x" }, "unknown"],
  ])("%o is worded as %s", (failure, kind) => {
    expect(wordError(failure).kind).toBe(kind);
  });

  it("words every code that the server has", () => {
    // A block's own codes and what only the model is told are worded elsewhere or not at all.
    const own = Object.keys(codes).filter((code) => !/^([A-Z_]+|ui_block_.*)$/.test(code));
    expect(own.length).toBeGreaterThan(30);
    expect(own.filter((code) => wordError({ code }).kind === "unknown")).toEqual([]);
  });

  it("has a sentence and a cure for every kind in both languages", () => {
    const kinds = Object.keys(en)
      .map((key) => /^error\.(\w+)\.what$/.exec(key)?.[1])
      .filter((kind) => kind !== undefined);
    expect(kinds.length).toBeGreaterThan(15);
    for (const kind of kinds) {
      const cure = `error.${kind}.cure`;
      expect(isTextKey(cure), cure).toBe(true);
      if (!isTextKey(cure)) continue;
      expect(translator("en")(cure)).toMatch(/\.$/);
      expect(translator("zh")(cure)).toMatch(/。$/);
    }
  });

  it("keeps the reference for support", () => {
    expect(wordError({ code: "internal", status: 500, traceId: "t1" }).traceId).toBe("t1");
  });
});

describe("toFailure", () => {
  it("reads what was thrown", () => {
    expect(toFailure(new TypeError("Failed to fetch")).code).toBe("network");
    expect(
      toFailure({
        code: "turn_running",
        status: 409,
        message: "m",
        retryable: false,
        traceId: "t",
      }),
    ).toEqual({
      code: "turn_running",
      status: 409,
      message: "m",
      retryable: false,
      traceId: "t",
    });
    expect(toFailure(new Error("boom")).code).toBe("unknown");
    expect(toFailure("boom")).toEqual({ code: "unknown", message: "boom" });
  });
});

describe("needsSignIn", () => {
  it("is true for 401 only", () => {
    expect(needsSignIn({ code: "x", status: 401 })).toBe(true);
    expect(needsSignIn({ code: "unauthorized" })).toBe(true);
    expect(needsSignIn({ code: "model_unauthorized" })).toBe(false);
    expect(needsSignIn({ code: "forbidden", status: 403 })).toBe(false);
  });
});
