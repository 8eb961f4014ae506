// @vitest-environment node
import { describe, expect, it } from "vitest";
import { fileName } from "../src/download.ts";
import { toolDetails } from "../src/trajectory.ts";

describe("toolDetails", () => {
  const trajectory = {
    schema_version: "ATIF-v1.4",
    steps: [
      { source: "user", message: "Show Q3" },
      {
        source: "agent",
        tool_calls: [
          { tool_call_id: "t1", function_name: "sales", arguments: { quarter: "2026Q3" } },
          { tool_call_id: "t2", function_name: "orders", arguments: {} },
        ],
        observation: {
          results: [
            { source_call_id: "t1", content: '{"rows":3}' },
            { source_call_id: "t2", content: "no orders" },
          ],
        },
      },
    ],
  };

  it("finds what went in and what came out", () => {
    expect(toolDetails(trajectory, "t1")).toEqual({
      input: '{\n  "quarter": "2026Q3"\n}',
      output: '{\n  "rows": 3\n}',
    });
    expect(toolDetails(trajectory, "t2")).toEqual({ input: "{}", output: "no orders" });
  });

  it.each([null, "x", [], {}, { steps: "x" }, { steps: [{ tool_calls: [null] }] }])(
    "finds nothing in %o",
    (document) => {
      expect(toolDetails(document, "t1")).toBeNull();
    },
  );
});

describe("fileName", () => {
  it.each([
    [null, null],
    ["attachment", null],
    ['attachment; filename="q3.md"', "q3.md"],
    ["attachment; filename=q3.md", "q3.md"],
    ["attachment; filename=\"x.md\"; filename*=UTF-8''%E9%94%80%E5%94%AE.md", "销售.md"],
    ["attachment; filename*=UTF-8''%E9%9", null],
  ])("%s", (header, name) => {
    expect(fileName(header)).toBe(name);
  });
});
